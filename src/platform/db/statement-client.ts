import pg from 'pg'

type Callback = (error: Error | null, result?: unknown) => void
type QueryFunction = (statement: unknown, values?: unknown, callback?: Callback) => unknown

// Looks up the method for each statement, because tracing libraries for pg replace it.
const runQuery = (client: pg.Client, ...parameters: Parameters<QueryFunction>): unknown =>
  (pg.Client.prototype.query as QueryFunction).apply(client, parameters)

/**
 * A pg client with its own promise and `query_timeout` for each statement. pg itself assigns a function to a property, which V8
 * allocates outside the young generation. Without this class, each call would stay in memory until the next full garbage
 * collection.
 */
export class StatementClient extends pg.Client {
  readonly #timeoutMs: number

  constructor(config?: pg.ClientConfig) {
    super(config)
    this.#timeoutMs = config?.query_timeout ?? 0
    const { connectionParameters } = this as unknown as { connectionParameters: { query_timeout: number } }
    connectionParameters.query_timeout = 0
  }

  static {
    const query = function (this: StatementClient, statement: unknown, values?: unknown, callback?: Callback): unknown {
      if (typeof (statement as { submit?: unknown } | null)?.submit === 'function')
        return runQuery(this, statement, values, callback)
      if (typeof values === 'function') return this.#queryWithTimeout(statement, undefined, values as Callback)
      if (callback) return this.#queryWithTimeout(statement, values, callback)
      return new Promise((resolve, reject) => {
        this.#queryWithTimeout(statement, values, (error, result) => (error ? reject(error) : resolve(result)))
      }).catch((error: Error) => {
        // Use the caller's stack trace instead of the protocol parser's.
        Error.captureStackTrace(error)
        throw error
      })
    }
    StatementClient.prototype.query = query as pg.Client['query']
  }

  #queryWithTimeout(statement: unknown, values: unknown, callback: Callback): void {
    if (!this.#timeoutMs) return void runQuery(this, statement, values, callback)
    const timer = setTimeout(() => {
      callback(new Error('Query read timeout'))
      // Close the connection, because a late response could not be matched to its statement.
      const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
      connection.stream.destroy()
    }, this.#timeoutMs)
    runQuery(this, statement, values, (error, result) => {
      clearTimeout(timer)
      callback(error, result)
    })
  }
}
