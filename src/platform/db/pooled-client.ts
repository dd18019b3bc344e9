import pg from 'pg'

type Query = (statement: unknown, ...rest: unknown[]) => unknown

/** Client for a pooler in transaction mode, which rejects startup parameters and does not keep named statements. */
export function createPooledClientClass(limits: Record<string, number>): typeof pg.Client {
  const settings = Object.entries(limits)
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
    .join('; ')
  class PooledClient extends pg.Client {}
  const query = pg.Client.prototype.query as Query
  PooledClient.prototype.query = function (this: pg.Client, statement: unknown, ...rest: unknown[]) {
    const answer = query.call(this, removeStatementName(statement), ...rest)
    // Ignore an error in the settings, because it also makes all later statements of the transaction fail.
    if (isBeginStatement(statement)) void (query.call(this, settings) as Promise<unknown>).catch(() => {})
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
