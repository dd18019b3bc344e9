import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { freePort } from './free-port.js'

/** Stands between the service and its PostgreSQL, and fails on demand: away, back again, or cut off around a move of the ledger. */
export class DatabaseProxy {
  /** What to do with the next move that comes by: cut before it is handed on, or before its answer is. */
  cutAtMove: 'before' | 'after' | undefined
  readonly #pairs = new Set<{ client: Socket; server: Socket }>()
  #listener: Server | undefined
  #port = 0

  private constructor(private readonly target: URL) {}

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(databaseUrl))
    await proxy.up()
    return proxy
  }

  /** The same database, by way of the proxy. */
  get url(): string {
    const url = new URL(this.target)
    url.hostname = '127.0.0.1'
    url.port = String(this.#port)
    url.searchParams.delete('host')
    url.searchParams.set('sslmode', 'disable')
    return url.href
  }

  async up(): Promise<void> {
    const listener = createServer((client) => this.#join(client))
    // One that no other connection takes while this is down.
    this.#port ||= Number(await freePort())
    await once(listener.listen(this.#port, '127.0.0.1'), 'listening')
    this.#listener = listener
  }

  /** Nobody listens, every connection is cut. */
  async down(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    const closed = new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)))
    for (const pair of this.#pairs) cut(pair)
    await closed
  }

  #join(client: Socket): void {
    const server = connect(join(this.target.searchParams.get('host') ?? '', '.s.PGSQL.5432'))
    const pair = { client, server }
    this.#pairs.add(pair)
    let silenced = false
    client.on('data', (bytes) => {
      const mode = bytes.includes('ledger-groups') ? this.cutAtMove : undefined
      if (mode) this.cutAtMove = undefined
      if (mode === 'before') return cut(pair)
      server.write(bytes)
      silenced ||= mode === 'after'
    })
    server.on('data', (bytes) => {
      // Its answer is there: so it is committed.
      if (silenced) cut(pair)
      else client.write(bytes)
    })
    for (const socket of [client, server])
      socket
        .on('error', () => {})
        .on('close', () => {
          this.#pairs.delete(pair)
          cut(pair)
        })
  }
}

function cut({ client, server }: { client: Socket; server: Socket }): void {
  client.destroy()
  server.destroy()
}
