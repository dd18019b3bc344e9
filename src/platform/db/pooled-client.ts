import pg from 'pg'

type Query = (statement: unknown, ...rest: unknown[]) => unknown

/**
 * A pg client that closes its connection when `query_timeout` expires. pg itself leaves the connection open, and after a
 * transaction, Prisma would return it to the pool before the server has responded.
 */
export class ServiceClient extends pg.Client {}
ServiceClient.prototype.query = function (this: pg.Client, ...parameters: Parameters<Query>) {
  // Looks up the method for each query, because tracing libraries replace it.
  const response = (pg.Client.prototype.query as Query).apply(this, parameters)
  if (response instanceof Promise)
    response.catch((error: Error) => {
      if (error.message !== 'Query read timeout') return
      const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
      connection.stream.destroy()
    })
  return response
} as pg.Client['query']

/** Client for a pooler in transaction mode, which rejects startup parameters and does not keep named statements. */
export function createPooledClientClass(limits: Record<string, number>): typeof pg.Client {
  const settings = Object.entries(limits)
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
    .join('; ')
  class PooledClient extends ServiceClient {}
  const runQuery = ServiceClient.prototype.query as Query
  PooledClient.prototype.query = function (this: pg.Client, statement: unknown, ...rest: unknown[]) {
    const answer = runQuery.call(this, removeStatementName(statement), ...rest)
    // Ignore the error here. If the limits cannot be set, all later statements of the transaction fail too and report the
    // problem.
    if (isBeginStatement(statement)) void (runQuery.call(this, settings) as Promise<unknown>).catch(() => {})
    return answer
  } as pg.Client['query']
  return PooledClient
}

const isQueryConfig = (statement: unknown): statement is { name?: string; text?: string } =>
  typeof statement === 'object' && statement !== null && !('submit' in statement)

const removeStatementName = (statement: unknown) =>
  isQueryConfig(statement) && statement.name ? { ...statement, name: '' } : statement

function isBeginStatement(statement: unknown): boolean {
  const text = isQueryConfig(statement) ? statement.text : statement
  return typeof text === 'string' && /^\s*begin\b/i.test(text)
}
