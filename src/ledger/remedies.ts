/**
 * What helps a transaction that PostgreSQL undid: the same `again` (it ended a deadlock), a `partition` for a month that has none,
 * to `wait` until the server is itself again, or nothing: then the entry itself is at fault.
 */
export type Remedy = 'again' | 'partition' | 'wait' | 'none'

// https://www.postgresql.org/docs/current/errcodes-appendix.html: serialization failure, deadlock; Prisma's name for both.
const contention = new Set(['40001', '40P01', 'P2034'])
// Insufficient resources (disk full, out of memory, too many locks), a statement that was cancelled or waited for a lock too
// long, a server that is read-only since it is no longer the first.
const hardship = /^(53...|57014|55P03|25006|58...)$/

export function remedyFor(error: unknown): Remedy {
  const codes = codesOf(error)
  if (codes.some((code) => contention.has(code))) return 'again'
  if (codes.includes('23514') && (error as { routine?: string }).routine === 'ExecFindPartition') return 'partition'
  return codes.some((code) => hardship.test(code)) ? 'wait' : 'none'
}

/** Of the error itself, or of the one inside Prisma's P2010 (a raw statement that failed). */
function codesOf(error: unknown): string[] {
  const { code, meta } = error as {
    code?: unknown
    meta?: { code?: unknown; driverAdapterError?: { cause?: { originalCode?: unknown } } }
  }
  return [code, meta?.code, meta?.driverAdapterError?.cause?.originalCode].filter((known) => typeof known === 'string')
}
