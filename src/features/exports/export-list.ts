import { type FragmentDefinitionNode, type GraphQLSchema, Kind } from 'graphql'
import type { Call } from '../../access/call.js'
import type { Endpoint } from '../../access/endpoint.js'
import type { LogReader } from '../../api/graphql/log-reader.js'
import { validateArguments } from '../../api/graphql/rules.js'
import { loadOperations, type Operation } from '../../api/rest/operations.js'
import { readArguments, readQueryParameters } from '../../api/rest/variables.js'
import { type ExportFormat, exportFormats } from './export-format.js'

const paging = ['page', 'page_size', 'after']

export interface ExportOptions<Args extends object> {
  path: string
  filename: string
  operation: string
  /** Fragment in the operation's document that selects the fields of a row. */
  fragment: string
  args: new () => Args
  log: LogReader<object, Args>
}

/**
 * A REST list that can be exported. The list and its export share a GraphQL document, so that their filters, errors and fields
 * cannot differ.
 */
export class ExportList<Args extends object> {
  readonly columns: string[]
  readonly #operation: Operation
  readonly #fields: { column: string; field: string }[]

  constructor(
    schema: GraphQLSchema,
    readonly options: ExportOptions<Args>,
  ) {
    this.#operation = loadOperations(schema).get(options.operation)!
    this.#fields = getSelectedFields(this.#operation, options.fragment)
    this.columns = this.#fields.map(({ column }) => column)
  }

  /** Access rules for the list. An export always covers the whole tenant. */
  get endpoint(): Endpoint {
    return { ...this.#operation.endpoint, tenantWide: true }
  }

  /** Reads the filters from the query string. Throws a 400 error that lists all invalid parameters. */
  parseQuery(call: Call, query: URLSearchParams): { args: Args; format: ExportFormat } {
    const format = query.get('format') ?? 'ndjson'
    if (!exportFormats.some((known) => known === format))
      call.inputErrors.push({ field: 'format', message: `must be one of ${exportFormats.join(', ')}` })
    // Paging parameters are ignored, because clients may copy the query string of a list.
    for (const name of ['format', ...paging]) query.delete(name)
    const filters = this.#operation.variables.map(({ name }) => name).filter((name) => !paging.includes(name))
    const raw = readQueryParameters(call, query, ['format', ...filters])
    const args = readArguments(call, this.#operation, raw, Object.assign(new this.options.args(), { page: 1, pageSize: 1 }))
    validateArguments(call, args, this.options.args)
    return { args, format: format as ExportFormat }
  }

  toRow(item: object): Record<string, unknown> {
    return Object.fromEntries(this.#fields.map(({ column, field }) => [column, (item as Record<string, unknown>)[field]]))
  }
}

function getSelectedFields({ document }: Operation, fragment: string): { column: string; field: string }[] {
  const { selectionSet } = document.definitions.find(
    (node): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === fragment,
  )!
  return selectionSet.selections.map((node) => {
    if (node.kind !== Kind.FIELD) throw new Error(`The fragment ${fragment} of an exported list must select fields only.`)
    return { column: (node.alias ?? node.name).value, field: node.name.value }
  })
}
