import { createOutcomeUnknownError } from '../errors/errors.js'

/**
 * Kind of SQL error. `contention`: a serialization failure or deadlock, which can be retried. `missing_partition`: the partition
 * for the month does not exist. `duplicate`: a unique constraint is violated. `locked`: the lock timeout expired. `hardship`: the
 * server is running, but cannot execute the statement at the moment. `unreachable`: there is no connection to the server.
 * `other`: any other error, such as an invalid statement.
 */
export type SqlErrorKind = 'contention' | 'missing_partition' | 'duplicate' | 'locked' | 'hardship' | 'unreachable' | 'other'

// Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html and https://www.prisma.io/docs/orm/reference/error-reference
const patterns: [SqlErrorKind, RegExp][] = [
  // Serialization failure, deadlock, and the Prisma error code for both.
  ['contention', /^(40001|40P01|P2034)$/],
  ['duplicate', /^(23505|P2002)$/],
  [
    'unreachable',
    /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|08...|57P0[1-5]|P100[128]|P1017)$/,
  ],
  ['locked', /^55P03$/],
  // Resources are exhausted, a timeout expired, an I/O error occurred, or the server became read-only in a failover.
  ['hardship', /^(53...|57014|25006|25P0[34]|58...|P2024|P2028)$/],
]
// Errors of the pg library without a code: the connection was lost, closed or not established in time.
const unreachableMessages =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired|Client (has encountered a connection error|was closed)|Query read timeout|Received unexpected \w+ message from backend/
const unreachableKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout'])

export function getSqlErrorKind(error: unknown): SqlErrorKind {
  for (let at = error, depth = 0; at && typeof at === 'object' && depth < 6; depth++) {
    const found = classifyError(at)
    if (found) return found
    const { originalError, cause } = at as { originalError?: unknown; cause?: unknown }
    at = originalError ?? cause
  }
  return 'other'
}

/** True if the database, not the request, caused the error. */
export function isDatabaseOutage(error: unknown): boolean {
  const kind = getSqlErrorKind(error)
  return ['unreachable', 'hardship', 'locked', 'contention'].includes(kind)
}

interface FailedQuery {
  code?: unknown
  routine?: unknown
  syscall?: unknown
  message?: unknown
  meta?: { code?: unknown; driverAdapterError?: { cause?: { originalCode?: unknown; kind?: unknown } } }
}

function classifyError({ code, routine, syscall, message, meta }: FailedQuery): SqlErrorKind | undefined {
  const inner = meta?.driverAdapterError?.cause
  // Look for the PostgreSQL error code, because Prisma reports P2010 for every failed raw statement.
  const codes = [inner?.originalCode, meta?.code, code].filter((known) => typeof known === 'string')
  if (codes.includes('23514') && routine === 'ExecFindPartition') return 'missing_partition'
  if (codes.includes('ENOENT') && syscall === 'connect') return 'unreachable'
  for (const [kind, pattern] of patterns) if (codes.some((known) => pattern.test(known))) return kind
  if (unreachableKinds.has(String(inner?.kind))) return 'unreachable'
  return typeof message === 'string' && unreachableMessages.test(message) ? 'unreachable' : undefined
}

/**
 * Runs a statement outside a transaction. If the connection is lost before the result arrives, throws an error that states that
 * the outcome is unknown.
 */
export async function detectLostCommit<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement
  } catch (error) {
    throw getSqlErrorKind(error) === 'unreachable' && !isConnectFailure(error) ? createOutcomeUnknownError(error) : error
  }
}

/** True if no connection was established, so that no statement was sent. */
function isConnectFailure(error: unknown): boolean {
  const { code, syscall, message, errors } = error as { code?: string; syscall?: string; message?: string; errors?: unknown[] }
  // If a host has several addresses, Node.js tries all of them and throws an AggregateError without a syscall, so check each
  // error.
  if (errors) return errors.every(isConnectFailure)
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === '57P03' ||
    /timeout exceeded when trying to connect|due to connection timeout/.test(message ?? '')
  )
}
