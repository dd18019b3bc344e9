import pg from 'pg'

type Answer = (error: Error | null, result?: unknown) => void
type Ask = (statement: unknown, values?: unknown, answer?: Answer) => unknown

// Looked up for each statement: what traces pg puts its own in that place.
const ask = (client: pg.Client, ...asked: Parameters<Ask>): unknown => (pg.Client.prototype.query as Ask).apply(client, asked)

/**
 * A client with a promise and a `query_timeout` of its own for each statement. A function that is written into a property where it
 * is made, as pg's are, V8 makes outside of the young generation: it would keep the whole call until the next full collection.
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
        // With the lines that asked, and not those of the parser.
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
      // What it may yet answer is for no one: the connection is of no more use.
      const { connection } = this as unknown as { connection: { stream: { destroy(): void } } }
      connection.stream.destroy()
    }, this.#timeoutMs)
    ask(this, statement, values, (error, result) => {
      clearTimeout(timer)
      answer(error, result)
    })
  }
}
