import { type DocumentNode, type FragmentDefinitionNode, type GraphQLSchema, Kind, type SelectionSetNode } from 'graphql'
import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import { validateArguments } from '../../api/graphql/rules.js'
import { loadOperations, type Operation } from '../../api/rest/operations.js'
import { coerceVariables, findUnknownNames, type RawValue } from '../../api/rest/variables.js'
import type { FieldError } from '../../platform/errors/errors.js'
import { type ExportFormat, exportFormats } from './export-format.js'

const paging = ['page', 'page_size', 'after']

/**
 * A REST list that can be exported. The list and its export share a GraphQL document, so that their filters, errors and fields
 * cannot differ.
 */
export class ExportList<Args extends object> {
  readonly columns: string[]
  readonly #operation: Operation
  readonly #args: new () => Args
  readonly #fields: { column: string; field: string }[]

  constructor(schema: GraphQLSchema, operation: string, args: new () => Args) {
    this.#operation = loadOperations(schema).get(operation)!
    this.#args = args
    this.#fields = getSelectedFields(this.#operation.document)
    this.columns = this.#fields.map(({ column }) => column)
  }

  /** Access rules for the list. An export always covers the whole tenant. */
  get endpoint(): Endpoint {
    return { ...this.#operation.endpoint, tenantWide: true }
  }

  /** Reads the filters from the query string. Throws a 400 error that lists all invalid parameters. */
  parseQuery(call: Call, query: URLSearchParams): { args: Args; format: ExportFormat } {
    const raw = new Map<string, RawValue>()
    const errors: FieldError[] = []
    const format = query.get('format') ?? 'ndjson'
    if (!exportFormats.some((known) => known === format))
      errors.push({ field: 'format', message: `must be one of ${exportFormats.join(', ')}` })
    const filters = this.#operation.variables.map(({ name }) => name).filter((name) => !paging.includes(name))
    // Paging parameters are ignored, because clients may copy the query string of a list.
    const known = ['format', ...filters]
    errors.push(
      ...findUnknownNames(
        [...query.keys()].filter((name) => !paging.includes(name)),
        known,
        'a query parameter of this endpoint',
      ),
    )
    for (const name of filters) {
      const values = query.getAll(name)
      if (values.length === 0) continue
      if (values.length > 1) errors.push({ field: name, message: 'must not be sent more than once' })
      raw.set(name, { value: values[0], from: 'text' })
    }
    const coerced = coerceVariables(this.#operation, raw, { rejectsNull: false })
    for (const error of coerced.errors) if (!errors.some(({ field }) => field === error.field)) errors.push(error)
    call.inputErrors = errors
    call.requestName = this.#operation.requestName
    const args = Object.assign(new this.#args(), { page: 1, pageSize: 1 })
    for (const [path, name] of this.#operation.requestNames)
      if (coerced.variables[name] !== undefined) Object.assign(args, { [path]: coerced.variables[name] })
    validateArguments(call, args, this.#args)
    return { args, format: format as ExportFormat }
  }

  toRow(item: object): Record<string, unknown> {
    return Object.fromEntries(this.#fields.map(({ column, field }) => [column, (item as Record<string, unknown>)[field]]))
  }
}

/** Returns the fields of a list item that the GraphQL document selects at `data.data`. */
function getSelectedFields(document: DocumentNode): { column: string; field: string }[] {
  const fragments = new Map<string, FragmentDefinitionNode>()
  let set: SelectionSetNode | undefined
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node)
    if (node.kind === Kind.OPERATION_DEFINITION) set = node.selectionSet
  }
  const data = (within: SelectionSetNode | undefined) =>
    within?.selections.find((node) => node.kind === Kind.FIELD && (node.alias ?? node.name).value === 'data')
  for (let depth = 0; depth < 2; depth++) {
    const found = data(set)
    set = found?.kind === Kind.FIELD ? found.selectionSet : undefined
  }
  const flat = (within: SelectionSetNode): { column: string; field: string }[] =>
    within.selections.flatMap((node) =>
      node.kind === Kind.FIELD
        ? [{ column: (node.alias ?? node.name).value, field: node.name.value }]
        : node.kind === Kind.FRAGMENT_SPREAD
          ? flat(fragments.get(node.name.value)!.selectionSet)
          : [],
    )
  if (!set) throw new Error('An exported list must be selected as `data { data { … } }` in its GraphQL document.')
  return flat(set)
}
