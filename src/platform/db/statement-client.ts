import pg from 'pg'

type Answer = (error: Error | null, result?: unknown) => void
type Ask = (statement: unknown, values?: unknown, answer?: Answer) => unknown

// Reads the method for each statement, because tracing libraries for pg replace it.
const ask = (client: pg.Client, ...asked: Parameters<Ask>): unknown => (pg.Client.prototype.query as Ask).apply(client, asked)

/**
 * A client with its own promise and `query_timeout` for each statement. V8 allocates a function that is assigned to a property, as in pg,
 * outside of the young generation. It would keep the whole call in memory until the next full garbage collection.
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
    const query = function (this: StatementClient, statement: unknown, values?: unknown, answer?: Answer): unknown {
      if (typeof (statement as { submit?: unknown } | null)?.submit === 'function') return ask(this, statement, values, answer)
      if (typeof values === 'function') return this.#within(statement, undefined, values as Answer)
      if (answer) return this.#within(statement, values, answer)
      return new Promise((resolve, reject) => {
        this.#within(statement, values, (error, result) => (error ? reject(error) : resolve(result)))
      }).catch((error: Error) => {
        // Use the stack trace of the caller instead of that of the protocol parser.
        Error.captureStackTrace(error)
        throw error
      })
    }
    StatementClient.prototype.query = query as pg.Client['query']
  }

  #within(statement: unknown, values: unknown, answer: Answer): void {
    if (!this.#timeoutMs) return void ask(this, statement, values, answer)
    const timer = setTimeout(() => {
      answer(new Error('Query read timeout'))
      // A late response could no longer be assigned to a statement, so the connection is closed.
      const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
      connection.stream.destroy()
    }, this.#timeoutMs)
    ask(this, statement, values, (error, result) => {
      clearTimeout(timer)
      answer(error, result)
    })
  }
}
