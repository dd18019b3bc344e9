import { BREAK, type DocumentNode, Kind, type SelectionSetNode, visit } from 'graphql'

/**
 * Limits for repeated elements in a document. graphql-js compares all pairs of operations, fragments and fields with the same
 * name. Its error messages list every invalid node. Without these limits, validation could block the event loop for 100 ms.
 */
const limits = { operations: 20, fragments: 50, variables: 100, arguments: 50, sameName: 50, literals: 1_000 }

/** Returns the message for the first limit that the document exceeds. Visits each node once. The caller must limit the depth. */
export function findBreadthError(document: DocumentNode): string | undefined {
  let literals = 0
  let error: string | undefined
  const checkCount = (count: number | undefined, max: number, message: string) => {
    if (count === undefined || count <= max) return undefined
    error = message
    return BREAK
  }
  const countDefinitions = (kind: Kind) => document.definitions.filter((node) => node.kind === kind).length
  const { operations, fragments, sameName } = limits
  if (countDefinitions(Kind.OPERATION_DEFINITION) > operations) return `must have at most ${operations} operations`
  if (countDefinitions(Kind.FRAGMENT_DEFINITION) > fragments) return `must have at most ${fragments} fragments`
  const checkArguments = (args: readonly unknown[] | undefined, owner: string) =>
    checkCount(args?.length, limits.arguments, `must not pass more than ${limits.arguments} arguments to a ${owner}`)
  const checkLiterals = ({ length }: readonly unknown[]) => checkCount((literals += length), limits.literals, tooManyLiterals)
  visit(document, {
    OperationDefinition: ({ variableDefinitions: list }) =>
      checkCount(list?.length, limits.variables, `must have at most ${limits.variables} variables`),
    SelectionSet: (node) =>
      checkCount(
        countRepetitions(node, new Map()),
        sameName,
        `must not repeat a name more than ${sameName} times in one selection set`,
      ),
    Field: (node) => checkArguments(node.arguments, 'field'),
    Directive: (node) => checkArguments(node.arguments, 'directive'),
    ListValue: ({ values }) => checkLiterals(values),
    ObjectValue: ({ fields }) => checkLiterals(fields),
  })
  return error
}

const tooManyLiterals = `must have at most ${limits.literals} values in its lists and objects. Send long values as variables`

/**
 * Returns the number of occurrences of the most frequent field name or fragment in one selection set, including inline
 * fragments.
 */
function countRepetitions({ selections }: SelectionSetNode, counts: Map<string, number>): number {
  let highest = 0
  for (const selection of selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      highest = Math.max(highest, countRepetitions(selection.selectionSet, counts))
      continue
    }
    const name = selection.kind === Kind.FIELD ? (selection.alias ?? selection.name).value : `...${selection.name.value}`
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    highest = Math.max(highest, count)
  }
  return highest
}
