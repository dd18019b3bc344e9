import { describeRequiredAccess } from '../../src/api/graphql/schema.js'
import type { DescribedOperation } from './operation.js'
import type { Json } from './schemas.js'

// Exports stream rows instead of running a GraphQL document. Each export has the same filters and items as its list.
const exported: Record<string, { list: string; summary: string; operationId: string }> = {
  '/stats/logs/export': { list: 'ListCallLogs', summary: 'Export call log entries', operationId: 'exportCallLogs' },
  '/audit-logs/export': { list: 'ListAuditLogs', summary: 'Export audit log entries', operationId: 'exportAuditLogs' },
}

/** Describes the endpoints that stream a whole list, with the filters, items and scope of that list. */
export const describeExports = (getOperation: (operation: string) => DescribedOperation): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(exported).map(([path, { list, ...names }]) => [path, describeExport(getOperation(list), names)]),
  )

function describeExport(list: DescribedOperation, names: { summary: string; operationId: string }): Json {
  const item = list.createExampleItem()
  const filters = list.inputs.filter(({ name }) => !['page', 'page_size', 'after'].includes(name))
  const cells = Object.values(item).map((value) => (typeof value === 'object' ? '' : String(value)))
  return list.describeEndpoint({
    ...names,
    description: ['Streams all entries that match the filters, newest first.', describeRequiredAccess(list.endpoint)],
    parameters: [format, ...filters.map((input) => list.createParameter(input, 'query'))],
    headers: { 'Content-Disposition': { $ref: '#/components/headers/Content-Disposition' } },
    response:
      'Exported entries. The first line of a CSV file contains the column names. A cell that a spreadsheet would treat as a formula starts with an apostrophe.',
    content: {
      'application/x-ndjson': {
        schema: { type: 'string', description: 'One JSON object per line. Each object is a list item.' },
        example: `${JSON.stringify(item)}\n`,
      },
      'text/csv': {
        schema: { type: 'string', description: 'Header line, followed by one line per list item.' },
        example: `${Object.keys(item).join(',')}\n${cells.join(',')}\n`,
      },
    },
    facts: { hasValidatedParameters: true },
  })
}

const format: Json = {
  name: 'format',
  in: 'query',
  description: 'Export format: newline-delimited JSON or CSV.',
  required: false,
  schema: { type: 'string', enum: ['csv', 'ndjson'], default: 'ndjson' },
}
