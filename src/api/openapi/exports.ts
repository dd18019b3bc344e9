import { type DescribedOperation, successHeaders } from './operation.js'
import type { Json } from './schemas.js'

// They stream rows and so run no document; what they take and give is that of the lists.
const exported: Record<string, { list: string; summary: string; operationId: string }> = {
  '/stats/logs/export': { list: 'ListCallLogs', summary: 'Export API call logs', operationId: 'exportCallLogs' },
  '/audit-logs/export': { list: 'ListAuditLogs', summary: 'Export audit logs', operationId: 'exportAuditLogs' },
}

/** The endpoints that stream a whole list: its filters, its items, its scope. */
export function describeExports(describedBy: (operation: string) => DescribedOperation): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(exported).map(([path, { list, summary, operationId }]) => [
      path,
      describe(describedBy(list), summary, operationId),
    ]),
  )
}

function describe(list: DescribedOperation, summary: string, operationId: string): Json {
  const filters = list.inputs.filter(({ name }) => !['page', 'page_size', 'after'].includes(name))
  return {
    ...list.head(summary, ['All entries that the filters leave, as a stream, newest first.']),
    operationId,
    parameters: [format, ...filters.map((input) => list.parameter(input, 'query'))],
    responses: {
      200: {
        description:
          'The entries. In CSV the first line has the names; a cell that a spreadsheet would take for a formula begins with an apostrophe.',
        headers: { ...successHeaders, 'Content-Disposition': { $ref: '#/components/headers/Content-Disposition' } },
        content: {
          'application/x-ndjson': {
            schema: { type: 'string', description: 'One JSON object a line, each an item of the list.' },
          },
          'text/csv': { schema: { type: 'string' } },
        },
      },
      ...list.refusals({ operation: operationId, idempotent: false, judged: true, named: false }),
    },
  }
}

const format: Json = {
  name: 'format',
  in: 'query',
  description: 'How the entries are written.',
  required: false,
  schema: { type: 'string', enum: ['csv', 'ndjson'], default: 'ndjson' },
}
