import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { GraphQLSchema } from 'graphql'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { TenantSlots } from '../../access/tenant-slots.js'
import { getTarget } from '../../api/http/caller.js'
import type { Database } from '../../platform/db/client.js'
import { rejectMethod } from '../../platform/errors/errors.js'
import type { AuditLogService } from '../audit-logs/audit-log.service.js'
import { AuditLogsArgs } from '../audit-logs/audit-log.types.js'
import type { CallLogService } from '../call-logs/call-log.service.js'
import { CallLogsArgs } from '../call-logs/call-log.types.js'
import { writers } from './export-format.js'
import { ExportList, type ExportOptions } from './export-list.js'

interface Dependencies {
  schema: GraphQLSchema
  database: Database
  callLogs: CallLogService
  auditLogs: AuditLogService
  createCall(request: Request): Promise<Call>
  /** Called if an export fails after its response has started. */
  onError(error: unknown): void
}

// Number of rows per batch. Formatting a batch takes a few milliseconds, and other calls run between batches.
const rowsAtOnce = 200

/** Creates the endpoints that stream log exports in constant memory, each with its own database connection. */
export function createExportRouter(dependencies: Dependencies): RequestHandler {
  const { schema, callLogs, auditLogs } = dependencies
  const slots = new TenantSlots('exports', { inAll: 8, byTenant: 2 })
  const router = Router({ caseSensitive: true, strict: true })
  const mountExport = <Args extends object>(options: ExportOptions<Args>) => {
    const list = new ExportList(schema, options)
    router.get(options.path, (request, response) => handleExport(dependencies, slots, list, request, response))
    router.all(options.path, rejectMethod)
  }
  const calls = { operation: 'ListCallLogs', fragment: 'CallLog', args: CallLogsArgs, log: callLogs }
  mountExport({ path: '/api/v1/stats/logs/export', filename: 'call-logs', ...calls })
  const audits = { operation: 'ListAuditLogs', fragment: 'AuditLog', args: AuditLogsArgs, log: auditLogs }
  mountExport({ path: '/api/v1/audit-logs/export', filename: 'audit-logs', ...audits })
  return router
}

async function handleExport<Args extends object>(
  dependencies: Dependencies,
  slots: TenantSlots,
  list: ExportList<Args>,
  request: Request,
  response: Response,
): Promise<void> {
  const call = await dependencies.createCall(request)
  try {
    await call.run('data', list.endpoint, async (attempt) => {
      const query = list.parseQuery(call, getTarget(request).query)
      await slots.run(attempt.actor.tenantId, () => sendExport(dependencies, list, query, attempt, call, response))
    })
  } catch (error) {
    response.set(call.responseHeaders)
    throw error
  }
}

async function sendExport<Args extends object>(
  { database, onError }: Dependencies,
  list: ExportList<Args>,
  { args, format }: { args: Args; format: keyof typeof writers },
  attempt: Attempt,
  call: Call,
  response: Response,
): Promise<void> {
  const connection = await database.connectDedicatedReads('assay export')
  try {
    // An export contains the rows up to the current time, so it does not include its own call.
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
    if ((error as { code?: string }).code !== 'ERR_STREAM_PREMATURE_CLOSE') onError(error)
    response.destroy()
  } finally {
    await connection.end().catch(() => {})
  }
}

async function* formatExport<Args extends object>(
  list: ExportList<Args>,
  format: keyof typeof writers,
  first: IteratorResult<object[]>,
  rest: AsyncGenerator<object[]>,
  end: () => Promise<void>,
): AsyncGenerator<Buffer> {
  const writer = writers[format]
  const head = writer.head(list.columns)
  if (head !== '') yield Buffer.from(head)
  for (let batch = first; !batch.done; batch = await rest.next())
    yield Buffer.from(
      writer.rows(
        batch.value.map((item) => list.toRow(item)),
        list.columns,
      ),
    )
  await end()
}
