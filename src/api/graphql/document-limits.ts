import {
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
} from 'graphql'
import { type CostRequest, computeCost, maxCost } from '../../access/request-cost.js'
import { type AssayError, badUserInput } from '../../platform/errors/errors.js'
import { findBreadthError } from './document-breadth.js'

const maxDepth = 12
/** Allows the standard introspection query, whose type references are nine levels deep. */
const maxIntrospectionDepth = 24
const maxSelections = 1_000
export const maxRootFields = 20
const maxIntrospections = 2
const maxDirectives = 50
/** Maximum nesting of braces, brackets and parentheses. This protects the parser's stack. */
const maxNesting = 100
const maxCharacters = 50_000
export const maxTokens = 4_000

const createDocumentError = (message: string) => badUserInput([{ field: 'query', message }])

/**
 * Rejects documents that are too expensive to process. Runs before graphql-js validation, which overflows the stack on cyclic
 * fragments and takes quadratic time on repeated elements. Returns the parsed document for the call log, or undefined if it
 * cannot be parsed.
 */
export function screenDocument(text: string): {
  document: DocumentNode | undefined
  error: AssayError | undefined
} {
  const error = findTokenError(text)
  if (error) return { document: undefined, error }
  try {
    const document = parse(text, { maxTokens: maxTokens, noLocation: true })
    const broad = findBreadthError(document)
    return { document, error: broad === undefined ? new DocumentScreener(document).findError() : createDocumentError(broad) }
  } catch {
    // Apollo Server parses the document again and reports the syntax error.
    return { document: undefined, error: undefined }
  }
}

function findTokenError(text: string): AssayError | undefined {
  if (text.length > maxCharacters)
    return createDocumentError(`must have at most ${maxCharacters} characters. Send long values as variables`)
  const lexer = new Lexer(new Source(text))
  let nesting = 0
  let directives = 0
  try {
    for (let tokens = 0; lexer.advance().kind !== TokenKind.EOF; tokens++) {
      if (tokens >= maxTokens) return createDocumentError(`must have at most ${maxTokens} tokens`)
      const { kind } = lexer.token
      if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) nesting++
      if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R) nesting--
      if (kind === TokenKind.AT) directives++
      if (nesting > maxNesting) return createDocumentError(`must not be nested more than ${maxNesting} levels deep`)
      if (directives > maxDirectives) return createDocumentError(`must have at most ${maxDirectives} directives`)
    }
  } catch {}
  return undefined
}

interface Size {
  depth: number
  selections: number
  rootFields: number
  introspections: number
}

const onceEach = 'must select each introspection field at most once, without aliases'

const nothing: Size = { depth: 0, selections: 0, rootFields: 0, introspections: 0 }

const addSizes = (a: Size, b: Size): Size => ({
  depth: Math.max(a.depth, b.depth),
  selections: a.selections + b.selections,
  rootFields: a.rootFields + b.rootFields,
  introspections: a.introspections + b.introspections,
})

class DocumentScreener {
  readonly #document: DocumentNode
  readonly #fragments = new Map<string, FragmentDefinitionNode>()
  readonly #sizes = new Map<string, Size>()
  readonly #open = new Set<string>()
  #error: string | undefined

  constructor(document: DocumentNode) {
    this.#document = document
    for (const node of document.definitions)
      if (node.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(node.name.value, node)
  }

  findError(): AssayError | undefined {
    for (const node of this.#document.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION && node.kind !== Kind.FRAGMENT_DEFINITION) continue
      const size = this.measure(node.selectionSet)
      if (
        node.kind === Kind.FRAGMENT_DEFINITION &&
        node.typeCondition.name.value.startsWith('__') &&
        this.#hasAlias(node.selectionSet)
      )
        this.recordFirstError(onceEach)
      if (size.introspections > maxIntrospections)
        this.recordFirstError(`must not contain more than ${maxIntrospections} introspection fields`)
      if (node.kind === Kind.OPERATION_DEFINITION && size.rootFields > maxRootFields)
        this.recordFirstError(`must not select more than ${maxRootFields} root fields`)
      const depth = size.introspections > 0 ? maxIntrospectionDepth : maxDepth
      if (node.kind === Kind.OPERATION_DEFINITION && size.depth > depth)
        this.recordFirstError(`must be at most ${depth} levels deep`)
      if (size.selections > maxSelections)
        this.recordFirstError(`must request at most ${maxSelections} fields, including the fields of every fragment spread`)
      if (this.#error) return createDocumentError(this.#error)
    }
    return undefined
  }

  recordFirstError(message: string): Size {
    this.#error ??= message
    return nothing
  }

  measure({ selections }: SelectionSetNode, level = 0): Size {
    if (this.#error) return nothing
    if (level > maxNesting) return this.recordFirstError(`must not be nested more than ${maxNesting} levels deep`)
    return selections.map((selection) => this.#measureSelection(selection, level)).reduce(addSizes, nothing)
  }

  #measureSelection(selection: SelectionNode, level: number): Size {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#measureFragment(selection.name.value, level)
    const inner = selection.selectionSet ? this.measure(selection.selectionSet, level + 1) : nothing
    if (selection.kind === Kind.INLINE_FRAGMENT) return { ...inner, selections: inner.selections + 1 }
    const introspects = selection.name.value === '__schema' || selection.name.value === '__type'
    if (introspects && selection.selectionSet && this.#hasAlias(selection.selectionSet)) this.recordFirstError(onceEach)
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
    if (this.#open.has(name)) return this.recordFirstError(`must not have cyclic fragments ('${name.slice(0, 100)}')`)
    this.#open.add(name)
    const inner = this.measure(fragment.selectionSet, level + 1)
    this.#open.delete(name)
    const size = { ...inner, selections: inner.selections + 1 }
    this.#sizes.set(name, size)
    return size
  }

  // Returns true if an introspection uses aliases. Each alias of a nested list would multiply the size of the response.
  #hasAlias({ selections }: SelectionSetNode): boolean {
    return selections.some(
      (selection) =>
        (selection.kind === Kind.FIELD && selection.alias !== undefined) ||
        (selection.kind !== Kind.FRAGMENT_SPREAD &&
          selection.selectionSet !== undefined &&
          this.#hasAlias(selection.selectionSet)),
    )
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
