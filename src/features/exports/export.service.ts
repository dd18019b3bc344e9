import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import { type FragmentDefinitionNode, type GraphQLSchema, Kind } from 'graphql'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { TenantSlots } from '../../access/concurrency.js'
import type { Endpoint } from '../../access/endpoint.js'
import type { LogReader } from '../../api/graphql/log-reader.js'
import { validateArguments } from '../../api/graphql/rules.js'
import { getTarget } from '../../api/http/caller.js'
import { loadOperations, type Operation } from '../../api/rest/operations.js'
import { readArguments, readQueryParameters } from '../../api/rest/variables.js'
import type { Database } from '../../platform/db/client.js'
import { rejectMethod } from '../../platform/errors/errors.js'
import type { AuditLogService } from '../audit-logs/audit-log.service.js'
import { AuditLogsArgs } from '../audit-logs/audit-log.types.js'
import type { CallLogService } from '../call-logs/call-log.service.js'
import { CallLogsArgs } from '../call-logs/call-log.types.js'
import { type ExportFormat, exportFormats, writers } from './export-format.js'

interface Dependencies {
  schema: GraphQLSchema
  database: Database
  callLogs: CallLogService
  auditLogs: AuditLogService
  createCall(request: Request): Promise<Call>
  /** Called if an export fails after its response has started. */
  onError(error: unknown, call: Call): void
}

// Number of rows per batch. Formatting a batch blocks the event loop for a few milliseconds. Other calls can run between batches.
const rowsAtOnce = 200

/** Creates the endpoints that stream log exports in constant memory. Each export has its own database connection. */
export function createExportRouter(dependencies: Dependencies): RequestHandler {
  const { schema, callLogs, auditLogs } = dependencies
  const slots = new TenantSlots('exports', { inAll: 8, byTenant: 2 })
  const router = Router({ caseSensitive: true, strict: true })
  const mountExport = (options: ExportOptions) => {
    const list = new ExportList(schema, options)
    router.get(options.path, async (request, response) => {
      const call = await dependencies.createCall(request)
      try {
        await call.run('data', list.endpoint, async (attempt) => {
          const query = list.parseQuery(call, getTarget(request).query)
          await slots.run(attempt.actor.tenantId, () => sendExport(dependencies, { list, attempt, call, ...query }, response))
        })
      } catch (error) {
        response.set(call.responseHeaders)
        throw error
      }
    })
    router.all(options.path, rejectMethod)
  }
  const calls = { operation: 'ListCallLogs', fragment: 'CallLog', args: CallLogsArgs, log: callLogs }
  mountExport({ path: '/api/v1/stats/logs/export', filename: 'call-logs', ...calls })
  const audits = { operation: 'ListAuditLogs', fragment: 'AuditLog', args: AuditLogsArgs, log: auditLogs }
  mountExport({ path: '/api/v1/audit-logs/export', filename: 'audit-logs', ...audits })
  return router
}

async function sendExport(
  { database, onError }: Dependencies,
  { list, attempt, call, args, format }: { list: ExportList; attempt: Attempt; call: Call; args: object; format: ExportFormat },
  response: Response,
): Promise<void> {
  const connection = await database.connectDedicatedReads('assay export')
  try {
    // Read the first batch before the call is logged. The export covers only rows that exist at this time, so it does not contain
    // its own call.
    const rows = list.options.log.readInBatches(connection, attempt.actor, args, rowsAtOnce)
    const first = await rows.next()
    await call.admission.logSuccess(attempt)
    response.set(call.responseHeaders).set({
      'Content-Type': writers[format].contentType,
      'Content-Disposition': `attachment; filename="${list.options.filename}-${new Date().toISOString().slice(0, 10)}.${format}"`,
      'Cache-Control': 'no-store',
    })
    // Close the connection before the response ends, so that the client can start the next export immediately.
    const closeConnection = () => connection.end()
    if (call.isHead) return void (await closeConnection().then(() => response.end()))
    await pipeline(
      Readable.from(formatExport(list, format, first, rows, closeConnection), { objectMode: true, highWaterMark: 1 }),
      response,
    )
  } catch (error) {
    if (!response.headersSent) throw error
    // The headers were already sent, so only log the error. A disconnected client is not an error.
    if ((error as { code?: string }).code !== 'ERR_STREAM_PREMATURE_CLOSE') onError(error, call)
    response.destroy()
  } finally {
    await connection.end().catch(() => {})
  }
}

async function* formatExport(
  list: ExportList,
  format: ExportFormat,
  first: IteratorResult<object[]>,
  rest: AsyncGenerator<object[]>,
  end: () => Promise<void>,
): AsyncGenerator<Buffer> {
  const writer = writers[format]
  const head = writer.head(list.columns)
  if (head !== '') yield Buffer.from(head)
  for (let batch = first; !batch.done; batch = await rest.next()) {
    const rows = batch.value.map((item) => list.toRow(item))
    yield Buffer.from(writer.rows(rows, list.columns))
  }
  await end()
}

const paging = ['page', 'page_size', 'after']

interface ExportOptions {
  path: string
  filename: string
  operation: string
  /** Fragment in the operation's document that selects the fields of a row. */
  fragment: string
  args: new () => object
  log: LogReader<object, object>
}

/** A REST list that can be exported. The list and its export have the same filters, errors and fields. */
class ExportList {
  readonly columns: string[]
  readonly #operation: Operation
  readonly #fields: { column: string; field: string }[]

  constructor(
    schema: GraphQLSchema,
    readonly options: ExportOptions,
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
  parseQuery(call: Call, query: URLSearchParams): { args: object; format: ExportFormat } {
    const format = query.get('format') ?? 'ndjson'
    if (!exportFormats.some((known) => known === format))
      call.inputErrors.push({ field: 'format', message: `must be one of ${exportFormats.join(', ')}` })
    // Ignore paging parameters, because clients may reuse the query string of a list request.
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
