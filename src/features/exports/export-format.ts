import { stringify } from 'csv-stringify/sync'

export const exportFormats = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof exportFormats)[number]

type Row = Record<string, unknown>

interface Writer {
  contentType: string
  /** Returns the text before the first row, such as the CSV header. */
  head(columns: readonly string[]): string
  rows(rows: readonly Row[], columns: readonly string[]): string
}

const newline = '\r\n'

/**
 * Writers for the export formats. Each call formats a single batch of rows, so that an export never holds more than one batch in
 * memory.
 */
export const writers: Record<ExportFormat, Writer> = {
  // CSV follows RFC 4180. A cell that a spreadsheet would execute as a formula is prefixed with an apostrophe.
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    head: (columns) => columns.join(',') + newline,
    rows: (rows, columns) =>
      stringify(
        rows.map((row) => columns.map((column) => toCell(row[column]))),
        // CSV readers treat every kind of line break as the end of a row, but by default the library quotes only fields that
        // contain the record delimiter.
        { escape_formulas: true, record_delimiter: newline, quoted_match: /[\r\n]/ },
      ),
  },
  ndjson: {
    contentType: 'application/x-ndjson; charset=utf-8',
    head: () => '',
    rows: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  },
}

const toCell = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
