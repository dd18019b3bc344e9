import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eicar } from './eicar.js'
import { findFreePort } from './free-port.js'

/** Defines how the daemon handles a stream. By default, it detects the EICAR string. */
export interface Script {
  /** Response at the end of the stream, with or without NUL. The connection closes afterwards. */
  response?: string | ((stream: Buffer) => string)
  /** Reads the complete stream, never responds, and keeps the connection open. */
  mute?: boolean
  /** Keeps the connection open after the client has ended. */
  hold?: boolean
  /** Closes the connection after this number of stream bytes. */
  dieAfter?: number
  /** Stream size limit, above which the daemon responds with an error and closes the connection, like StreamMaxLength. */
  limit?: number
  /** Delivery of the size limit error while bytes are in transit: followed by a reset, or replaced by one. */
  limitResponse?: 'reset behind' | 'lost'
  /** Pause in milliseconds after each read. */
  pauseMs?: number
  version?: string
  /** Response to the EICAR detection proof. By default, the string is detected. */
  proof?: string
}

export interface ClamdEmulator {
  url: string
  script: Script
  /** Number of INSTREAM commands. */
  requests: number
  /** Number of started streams. */
  streams: number
  /** Number of detection proofs, which the other counts exclude. */
  proofs: number
  /** Number of declared lengths rejected before any byte of the file. */
  rejectedLengths: number
  open: number
  maxOpen: number
  /** Number of received stream bytes. */
  receivedBytes: number
  close(): Promise<void>
}

const found = 'stream: Test.EICAR.UNOFFICIAL FOUND\0'
/** Detects the EICAR string and the limits probe, which is a zip with the member last.zip. */
export const detectEicar = (stream: Buffer) => (stream.includes(eicar) || stream.includes('last.zip') ? found : 'stream: OK\0')
/** The detection proof as sent, which consists of one chunk and the end marker. */
const proof = Buffer.concat([Buffer.from([0, 0, 0, eicar.length]), eicar, Buffer.alloc(4)])

/** Starts a clamd emulator with scripted responses. `port` reuses the port of another emulator. */
export async function startClamdEmulator(
  script: Script = {},
  listen: 'tcp' | 'unix' = 'tcp',
  port?: number,
): Promise<ClamdEmulator> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-clamd-'))
  const sockets = new Set<Socket>()
  const daemon: ClamdEmulator = {
    url: '',
    script,
    requests: 0,
    streams: 0,
    proofs: 0,
    rejectedLengths: 0,
    open: 0,
    maxOpen: 0,
    receivedBytes: 0,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    daemon.open++
    daemon.maxOpen = Math.max(daemon.maxOpen, daemon.open)
    socket.on('close', () => {
      sockets.delete(socket)
      daemon.open--
    })
    socket.on('error', () => {})
    socket.on('end', () => daemon.script.hold || socket.end())
    handleConnection(socket, daemon)
  })
  const path = join(folder, 'clamd.sock')
  // Uses a port that stays free after the emulator is closed.
  const tcpPort = port ?? Number(await findFreePort())
  await new Promise<void>((resolve) =>
    listen === 'unix' ? server.listen(path, resolve) : server.listen(tcpPort, '127.0.0.1', resolve),
  )
  daemon.url = listen === 'unix' ? `clamd://${path}` : `clamd://127.0.0.1:${tcpPort}`
  return daemon
}

function handleConnection(socket: Socket, daemon: ClamdEmulator): void {
  let pending = Buffer.alloc(0)
  let command: string | undefined
  const stream: Buffer[] = []
  let size = 0
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk])
    if (command === undefined) {
      const end = pending.indexOf(0)
      if (end < 0) return
      command = pending.toString('latin1', 0, end)
      pending = pending.subarray(end + 1)
      if (command !== 'zINSTREAM') return void socket.end(toReply(command, daemon.script))
      if (pending.equals(proof)) {
        daemon.proofs++
        return void socket.end(daemon.script.proof ?? found)
      }
      daemon.requests++
    }
    const { script } = daemon
    if (script.pauseMs) {
      socket.pause()
      setTimeout(() => socket.resume(), script.pauseMs).unref()
    }
    while (pending.length >= 4) {
      const length = pending.readUInt32BE(0)
      if (script.limit !== undefined && size + length > script.limit)
        return rejectLongStream(socket, daemon, size + pending.length - 4)
      if (pending.length < 4 + length) return
      const chunk = pending.subarray(4, 4 + length)
      pending = pending.subarray(4 + length)
      if (size === 0) daemon.streams++
      size += chunk.length
      daemon.receivedBytes += chunk.length
      // Large streams are counted instead of stored because these tests measure memory.
      if (size < 2_000_000) stream.push(Buffer.from(chunk))
      if (script.dieAfter !== undefined && size >= script.dieAfter) return resetConnection(socket)
      if (chunk.length === 0 && !script.mute) return void socket.end(toResponse(script, Buffer.concat(stream)))
    }
  })
}

const word = 'INSTREAM size limit exceeded. ERROR\0'

/** Closes the connection with unread data, as clamd does, which makes the operating system send a reset. */
function rejectLongStream(socket: Socket, daemon: ClamdEmulator, received: number): void {
  socket.pause()
  socket.removeAllListeners('data')
  const { limitResponse: limitWord } = daemon.script
  if (received === 0) daemon.rejectedLengths++
  if (received > 0 && limitWord === 'lost') resetConnection(socket)
  else if (received > 0 && limitWord === 'reset behind') socket.write(word, () => resetConnection(socket))
  else socket.end(word, () => socket.destroy())
}

/** Closing a Unix socket with unread bytes is equivalent to a reset. */
function resetConnection(socket: Socket): void {
  if (socket.remoteAddress) socket.resetAndDestroy()
  else socket.destroy()
}

function toResponse({ response: reported = detectEicar }: Script, stream: Buffer): string {
  return typeof reported === 'string' ? reported : reported(stream)
}

function toReply(command: string, script: Script): string {
  if (command === 'zPING') return 'PONG\0'
  return command === 'zVERSION' ? `${script.version ?? 'ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026'}\0` : 'UNKNOWN COMMAND\0'
}
