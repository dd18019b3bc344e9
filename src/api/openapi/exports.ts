import { describeRequiredAccess } from '../graphql/schema.js'
import { type DescribedOperation, successHeaders } from './operation.js'
import type { Json } from './schemas.js'

// Exports stream rows instead of running a GraphQL document. Their filters and items match those of the lists.
const exported: Record<string, { list: string; summary: string; operationId: string }> = {
  '/stats/logs/export': { list: 'ListCallLogs', summary: 'Export call log entries', operationId: 'exportCallLogs' },
  '/audit-logs/export': { list: 'ListAuditLogs', summary: 'Export audit log entries', operationId: 'exportAuditLogs' },
}

/** Describes the endpoints that stream a whole list, with the filters, items and scope of that list. */
export function describeExports(describedBy: (operation: string) => DescribedOperation): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(exported).map(([path, { list, summary, operationId }]) => [
      path,
      describe(describedBy(list), summary, operationId),
    ]),
  )
}

function describe(list: DescribedOperation, summary: string, operationId: string): Json {
  const item = list.createExampleItem()
  const filters = list.inputs.filter(({ name }) => !['page', 'page_size', 'after'].includes(name))
  return {
    ...list.createHead(summary, [
      'Streams all entries that match the filters, newest first.',
      describeRequiredAccess(list.endpoint),
    ]),
    operationId,
    parameters: [format, ...filters.map((input) => list.createParameter(input, 'query'))],
    responses: {
      200: {
        description:
          'Entries of the list. The first line of a CSV file contains the column names. A cell that a spreadsheet would treat as a formula starts with an apostrophe.',
        headers: { ...successHeaders, 'Content-Disposition': { $ref: '#/components/headers/Content-Disposition' } },
        content: {
          'application/x-ndjson': {
            schema: { type: 'string', description: 'One JSON object per line. Each object is an item of the list.' },
            example: `${JSON.stringify(item)}\n`,
          },
          'text/csv': {
            schema: { type: 'string', description: 'Header line, followed by one line per item of the list.' },
            example: `${Object.keys(item).join(',')}\n${Object.values(item)
              .map((value) => (typeof value === 'object' ? '' : String(value)))
              .join(',')}\n`,
          },
        },
      },
      ...list.getErrorResponses({ operation: operationId, idempotent: false, judged: true, named: false }),
    },
  }
}

const format: Json = {
  name: 'format',
  in: 'query',
  description: 'Format of the entries: newline-delimited JSON or CSV.',
  required: false,
  schema: { type: 'string', enum: ['csv', 'ndjson'], default: 'ndjson' },
}
