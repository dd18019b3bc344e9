import { BREAK, type DocumentNode, Kind, type SelectionSetNode, visit } from 'graphql'

/**
 * How much of a kind a document may have in one place. graphql-js compares fields of one name, fragments and operations each with
 * each, and words a fault with every node at fault: without these bounds validating a document holds the event loop for a tenth of
 * a second.
 */
const limits = { operations: 20, fragments: 50, variables: 100, arguments: 50, sameName: 50, literals: 1_000 }

/** What is too much, as an answer tells it. Looks at each node once, and is to be asked of documents whose depth is bounded. */
export function findBreadthFault(document: DocumentNode): string | undefined {
  let literals = 0
  let fault: string | undefined
  const refuse = (message: string) => {
    fault = message
    return BREAK
  }
  const definitions = (kind: Kind) => document.definitions.filter((node) => node.kind === kind).length
  if (definitions(Kind.OPERATION_DEFINITION) > limits.operations) return `must have at most ${limits.operations} operations`
  if (definitions(Kind.FRAGMENT_DEFINITION) > limits.fragments) return `must have at most ${limits.fragments} fragments`
  visit(document, {
    OperationDefinition: ({ variableDefinitions }) => {
      if ((variableDefinitions?.length ?? 0) > limits.variables) return refuse(`must have at most ${limits.variables} variables`)
    },
    SelectionSet: (node) => {
      if (repetitions(node, new Map()) > limits.sameName)
        return refuse(`must ask for the same name at most ${limits.sameName} times in one place`)
    },
    Field: ({ arguments: list }) => {
      if ((list?.length ?? 0) > limits.arguments) return refuse(`must give a field at most ${limits.arguments} arguments`)
    },
    Directive: ({ arguments: list }) => {
      if ((list?.length ?? 0) > limits.arguments) return refuse(`must give a directive at most ${limits.arguments} arguments`)
    },
    ListValue: ({ values }) => {
      if ((literals += values.length) > limits.literals) return refuse(tooManyLiterals)
    },
    ObjectValue: ({ fields }) => {
      if ((literals += fields.length) > limits.literals) return refuse(tooManyLiterals)
    },
  })
  return fault
}

const tooManyLiterals = `must have at most ${limits.literals} values in its lists and objects; give what is long as a variable`

/** How often the most frequent name or fragment stands in one place, inline fragments being part of theirs. */
function repetitions({ selections }: SelectionSetNode, seen: Map<string, number>): number {
  let highest = 0
  for (const selection of selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      highest = Math.max(highest, repetitions(selection.selectionSet, seen))
      continue
    }
    const name = selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : `...${selection.name.value}`
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    highest = Math.max(highest, count)
  }
  return highest
}
