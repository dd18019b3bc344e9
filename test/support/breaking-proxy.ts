import { connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy in front of the service that closes each connection after a number of bytes. */
export class BreakingProxy {
  #breaks: number[] = []
  broken = 0
  #held = Number.POSITIVE_INFINITY
  readonly #sockets = new Set<Socket>()

  private constructor(
    private readonly server: Server,
    /** Port of the service. If a test changes this port, the proxy uses the new port for new connections. */
    public target: number,
  ) {}

  static async open(url: string): Promise<BreakingProxy> {
    const server = createServer()
    const proxy = new BreakingProxy(server, Number(new URL(url).port))
    server.on('connection', (socket) => proxy.#forward(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`
  }

  breakAfter(...bytes: number[]): void {
    this.#breaks = bytes
    this.broken = 0
  }

  /** Forwards a number of bytes on each connection, then stalls it. */
  stallAfter(bytes: number): void {
    this.#held = bytes
  }

  #forward(socket: Socket): void {
    this.#sockets.add(socket.on('close', () => this.#sockets.delete(socket)))
    const onward = connect(this.target, '127.0.0.1')
    let remaining = Number.POSITIVE_INFINITY
    let observed = 0
    socket.on('error', () => onward.destroy()).on('close', () => onward.destroy())
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    onward.pipe(socket)
    socket.on('data', (chunk: Buffer) => {
      // Only requests with a body are limited, so that small requests pass.
      if (observed === 0 || remaining === Number.POSITIVE_INFINITY) remaining = this.#breaks[0] ?? Number.POSITIVE_INFINITY
      observed += chunk.length
      onward.write(chunk)
      if (observed >= this.#held) socket.pause()
      if (observed < remaining) return
      this.#breaks.shift()
      this.broken++
      socket.destroy()
      onward.destroy()
    })
  }

  close(): void {
    this.server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
