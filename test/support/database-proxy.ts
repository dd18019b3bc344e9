import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { findFreePort } from './free-port.js'

/** A proxy in front of PostgreSQL that injects faults: outages, and connections lost at a ledger move. */
export class DatabaseProxy {
  /** Disconnects at the next move, before the move or its response is forwarded. */
  cutAtMove: 'before' | 'after' | undefined
  /** Disconnects the connection that sends `text`, at that statement or at the following COMMIT. */
  cut: { text: string; at: 'statement' | 'commit'; when: 'before' | 'after' } | undefined
  /** Names of prepared COMMIT statements. */
  readonly #commits = new Set<string>()
  readonly #pairs = new Set<{ client: Socket; server: Socket }>()
  #listener: Server | undefined
  #port = 0

  private constructor(private readonly target: URL) {}

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(databaseUrl))
    await proxy.up()
    return proxy
  }

  get url(): string {
    const url = new URL(this.target)
    url.hostname = '127.0.0.1'
    url.port = String(this.#port)
    url.searchParams.delete('host')
    url.searchParams.set('sslmode', 'disable')
    return url.href
  }

  async up(): Promise<void> {
    const listener = createServer((client) => this.#connect(client))
    // Reuses a port that stays free while the proxy is stopped.
    this.#port ||= Number(await findFreePort())
    await once(listener.listen(this.#port, '127.0.0.1'), 'listening')
    this.#listener = listener
  }

  /** Stops listening and closes every connection. */
  async down(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    const closed = new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)))
    for (const pair of this.#pairs) disconnect(pair)
    await closed
  }

  #connect(client: Socket): void {
    const server = connect(join(this.target.searchParams.get('host') ?? '', '.s.PGSQL.5432'))
    const pair = { client, server }
    this.#pairs.add(pair)
    let silenced = false
    let hasText = false
    client.on('data', (bytes) => {
      const prepared = /(\w+)\0COMMIT\0/.exec(bytes.toString('latin1'))?.[1]
      if (prepared) this.#commits.add(prepared)
      let mode = bytes.includes('ledger-groups') ? this.cutAtMove : undefined
      if (mode) this.cutAtMove = undefined
      hasText ||= this.cut !== undefined && bytes.includes(this.cut.text)
      if (this.cut && hasText && (this.cut.at === 'statement' || this.#isCommit(bytes))) {
        mode = this.cut.when
        this.cut = undefined
      }
      if (mode === 'before') return disconnect(pair)
      server.write(bytes)
      silenced ||= mode === 'after'
    })
    server.on('data', (bytes) => {
      // The transaction is committed because PostgreSQL has responded.
      if (silenced) disconnect(pair)
      else client.write(bytes)
    })
    for (const socket of [client, server])
      socket
        .on('error', () => {})
        .on('close', () => {
          this.#pairs.delete(pair)
          disconnect(pair)
        })
  }

  #isCommit(bytes: Buffer): boolean {
    return bytes.includes('COMMIT\0') || [...this.#commits].some((name) => bytes.includes(`\0${name}\0`))
  }
}

function disconnect({ client, server }: { client: Socket; server: Socket }): void {
  client.destroy()
  server.destroy()
}
