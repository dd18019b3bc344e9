import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  Lexer,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  Source,
  TokenKind,
  visit,
} from 'graphql'
import { type CostRequest, computeCost, maxCost } from '../../access/request-cost.js'
import { AssayError, invalidField } from '../../platform/errors/errors.js'

const maxCharacters = 50_000
export const maxTokens = 4_000
const maxDirectives = 50
/** Maximum nesting of braces, brackets and parentheses, which prevents a stack overflow in the parser. */
const maxNesting = 100
const maxDepth = 12
/** Maximum depth of introspection. It allows the standard introspection query, whose type references are nine levels deep. */
const maxIntrospectionDepth = 24
const maxSelections = 1_000
export const maxRootFields = 20
const maxIntrospections = 2
/**
 * Limits for repeated elements. graphql-js compares all pairs of operations, fragments and fields with the same name, and its
 * error messages list every invalid node. Without these limits, validation could block the event loop for 100 ms.
 */
const maxCounts = { operations: 20, fragments: 50, variables: 100, arguments: 50, sameName: 50, literals: 1_000 }

/**
 * Rejects documents that are too expensive to process. Runs before graphql-js validation, which overflows the stack on cyclic
 * fragments and takes quadratic time on repeated elements. Returns the parsed document for the call log, or undefined if it
 * cannot be parsed.
 */
export function screenDocument(text: string): { document: DocumentNode | undefined; error: AssayError | undefined } {
  let document: DocumentNode | undefined
  try {
    checkTokens(text)
    document = parse(text, { maxTokens, noLocation: true })
    checkCounts(document)
    checkSizes(document)
    return { document, error: undefined }
  } catch (error) {
    // Ignore syntax errors, because Apollo Server parses the document again and reports them.
    return { document, error: error instanceof AssayError ? error : undefined }
  }
}

const createDocumentError = (message: string) => invalidField('query', message)

function checkLimit(count: number, max: number, createMessage: (max: number) => string): void {
  if (count > max) throw createDocumentError(createMessage(max))
}

function checkTokens(text: string): void {
  checkLimit(text.length, maxCharacters, (max) => `must have at most ${max} characters. Send long values as variables`)
  const lexer = new Lexer(new Source(text))
  let nesting = 0
  let directives = 0
  for (let tokens = 1; lexer.advance().kind !== TokenKind.EOF; tokens++) {
    checkLimit(tokens, maxTokens, (max) => `must have at most ${max} tokens`)
    const { kind } = lexer.token
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) nesting++
    if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R) nesting--
    if (kind === TokenKind.AT) directives++
    checkLimit(nesting, maxNesting, createNestingMessage)
    checkLimit(directives, maxDirectives, (max) => `must have at most ${max} directives`)
  }
}

const createNestingMessage = (max: number) => `must not be nested more than ${max} levels deep`

/** Checks the limits for repeated elements in one traversal. `checkTokens` must already have limited the nesting. */
function checkCounts(document: DocumentNode): void {
  const countDefinitions = (kind: Kind) => document.definitions.filter((node) => node.kind === kind).length
  checkLimit(countDefinitions(Kind.OPERATION_DEFINITION), maxCounts.operations, (max) => `must have at most ${max} operations`)
  checkLimit(countDefinitions(Kind.FRAGMENT_DEFINITION), maxCounts.fragments, (max) => `must have at most ${max} fragments`)
  const checkArguments = (args: readonly unknown[] = [], owner: string) =>
    checkLimit(args.length, maxCounts.arguments, (max) => `must not pass more than ${max} arguments to a ${owner}`)
  let literals = 0
  const countLiterals = ({ length }: readonly unknown[]) => {
    literals += length
    checkLimit(literals, maxCounts.literals, createLiteralsMessage)
  }
  visit(document, {
    OperationDefinition: ({ variableDefinitions = [] }) =>
      checkLimit(variableDefinitions.length, maxCounts.variables, (max) => `must have at most ${max} variables`),
    SelectionSet: (node) =>
      checkLimit(
        countRepetitions(node, new Map()),
        maxCounts.sameName,
        (max) => `must not repeat a name more than ${max} times in one selection set`,
      ),
    Field: (node) => checkArguments(node.arguments, 'field'),
    Directive: (node) => checkArguments(node.arguments, 'directive'),
    ListValue: ({ values }) => countLiterals(values),
    ObjectValue: ({ fields }) => countLiterals(fields),
  })
}

const createLiteralsMessage = (max: number) =>
  `must have at most ${max} values in its lists and objects. Send long values as variables`

/** Returns how often the most frequent field or fragment name occurs in a selection set, including its inline fragments. */
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

const isFragment = (node: DefinitionNode): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION

function checkSizes(document: DocumentNode): void {
  const sizes = new DocumentSizes(document)
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION && !isFragment(node)) continue
    const { depth, selections, rootFields, introspections } = sizes.measure(node.selectionSet)
    if (isFragment(node) && node.typeCondition.name.value.startsWith('__')) rejectAliases(node.selectionSet)
    checkLimit(introspections, maxIntrospections, (max) => `must not contain more than ${max} introspection fields`)
    if (!isFragment(node)) {
      checkLimit(rootFields, maxRootFields, (max) => `must not select more than ${max} root fields`)
      checkLimit(depth, introspections > 0 ? maxIntrospectionDepth : maxDepth, (max) => `must be at most ${max} levels deep`)
    }
    checkLimit(selections, maxSelections, createSelectionsMessage)
  }
}

const createSelectionsMessage = (max: number) =>
  `must request at most ${max} fields, including the fields of every fragment spread`

interface Size {
  depth: number
  selections: number
  rootFields: number
  introspections: number
}

const nothing: Size = { depth: 0, selections: 0, rootFields: 0, introspections: 0 }

const addSizes = (a: Size, b: Size): Size => ({
  depth: Math.max(a.depth, b.depth),
  selections: a.selections + b.selections,
  rootFields: a.rootFields + b.rootFields,
  introspections: a.introspections + b.introspections,
})

/** Measures selection sets, including the fragments that they use. Each fragment is measured once. */
class DocumentSizes {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly #sizes = new Map<string, Size>()
  readonly #open = new Set<string>()

  constructor({ definitions }: DocumentNode) {
    this.#fragments = new Map(definitions.filter(isFragment).map((node) => [node.name.value, node]))
  }

  measure({ selections }: SelectionSetNode, level = 0): Size {
    checkLimit(level, maxNesting, createNestingMessage)
    return selections.map((selection) => this.#measureSelection(selection, level)).reduce(addSizes, nothing)
  }

  #measureSelection(selection: SelectionNode, level: number): Size {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#measureFragment(selection.name.value, level)
    const inner = selection.selectionSet ? this.measure(selection.selectionSet, level + 1) : nothing
    if (selection.kind === Kind.INLINE_FRAGMENT) return { ...inner, selections: inner.selections + 1 }
    const introspects = selection.name.value === '__schema' || selection.name.value === '__type'
    if (introspects && selection.selectionSet) rejectAliases(selection.selectionSet)
    return {
      depth: inner.depth + 1,
      selections: inner.selections + 1,
      rootFields: 1,
      introspections: inner.introspections + (introspects ? 1 : 0),
    }
  }

  #measureFragment(name: string, level: number): Size {
    const fragment = this.#fragments.get(name)
    if (!fragment) return { ...nothing, selections: 1 }
    const known = this.#sizes.get(name)
    if (known) return known
    if (this.#open.has(name)) throw createDocumentError(`must not contain cyclic fragments ('${name.slice(0, 100)}')`)
    this.#open.add(name)
    const inner = this.measure(fragment.selectionSet, level + 1)
    this.#open.delete(name)
    const size = { ...inner, selections: inner.selections + 1 }
    this.#sizes.set(name, size)
    return size
  }
}

/** Rejects aliases in an introspection query, because each alias of a nested list multiplies the size of the response. */
function rejectAliases({ selections }: SelectionSetNode): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD && selection.alias !== undefined)
      throw createDocumentError('must select each introspection field at most once, without aliases')
    if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet) rejectAliases(selection.selectionSet)
  }
}

export function computeCostWithinLimit(schema: GraphQLSchema, request: CostRequest, limit = maxCost): number {
  const cost = computeCost(schema, request)
  if (cost <= limit) return cost
  throw new GraphQLError(
    `The document has a cost of ${cost}, which is the estimated number of values in the response. The limit is ${limit}. Request fewer fields or smaller pages.`,
    { extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } } },
  )
}
