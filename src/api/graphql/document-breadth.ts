import { BREAK, type DocumentNode, Kind, type SelectionSetNode, visit } from 'graphql'

/**
 * Limits for repeated elements in a document. graphql-js compares all pairs of operations, fragments and fields with the same
 * name, and lists every invalid node in error messages. Without these limits, validation could block the event loop for 100 ms.
 */
const limits = { operations: 20, fragments: 50, variables: 100, arguments: 50, sameName: 50, literals: 1_000 }

/** Returns the message for the first limit that the document exceeds. Visits each node once. The caller must limit the depth. */
export function findBreadthError(document: DocumentNode): string | undefined {
  let literals = 0
  let error: string | undefined
  const refuse = (message: string) => {
    error = message
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
      if (countRepetitions(node, new Map()) > limits.sameName)
        return refuse(`must not repeat a name more than ${limits.sameName} times in one selection set`)
    },
    Field: ({ arguments: list }) => {
      if ((list?.length ?? 0) > limits.arguments)
        return refuse(`must not pass more than ${limits.arguments} arguments to a field`)
    },
    Directive: ({ arguments: list }) => {
      if ((list?.length ?? 0) > limits.arguments)
        return refuse(`must not pass more than ${limits.arguments} arguments to a directive`)
    },
    ListValue: ({ values }) => {
      if ((literals += values.length) > limits.literals) return refuse(tooManyLiterals)
    },
    ObjectValue: ({ fields }) => {
      if ((literals += fields.length) > limits.literals) return refuse(tooManyLiterals)
    },
  })
  return error
}

const tooManyLiterals = `must have at most ${limits.literals} values in its lists and objects. Send long values as variables`

/** Counts how often the most frequent field name or fragment occurs in one selection set, including inline fragments. */
function countRepetitions({ selections }: SelectionSetNode, seen: Map<string, number>): number {
  let highest = 0
  for (const selection of selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      highest = Math.max(highest, countRepetitions(selection.selectionSet, seen))
      continue
    }
    const name = selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : `...${selection.name.value}`
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    highest = Math.max(highest, count)
  }
  return highest
}
