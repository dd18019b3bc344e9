import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eicar } from './eicar.js'

/** What the daemon does with a stream. Anything unset: what a clamd with a signature for the EICAR string does. */
export interface Script {
  /** Said when the stream has ended, as it is: with its NUL, or without. The connection is closed afterwards. */
  answer?: string | ((stream: Buffer) => string)
  /** Takes everything, says nothing, and keeps the connection. */
  mute?: boolean
  /** Cuts the connection after so many bytes of the stream. */
  dieAfter?: number
  /** Says that the stream is too long after so many bytes, and closes without reading the rest: clamd's StreamMaxLength. */
  limit?: number
  /** Takes nothing for so many milliseconds after each read. */
  pauseMs?: number
  version?: string
}

export interface ScriptedClamd {
  url: string
  script: Script
  /** INSTREAM commands so far. */
  streams: number
  open: number
  mostOpen: number
  /** Bytes of streams taken so far. */
  taken: number
  close(): Promise<void>
}

const faithful = (stream: Buffer) => (stream.includes(eicar) ? 'stream: Test.EICAR.UNOFFICIAL FOUND\0' : 'stream: OK\0')

/** A clamd that does as it is told, odd things above all. */
export async function startScriptedClamd(script: Script = {}, listen: 'tcp' | 'unix' = 'tcp'): Promise<ScriptedClamd> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-clamd-'))
  const sockets = new Set<Socket>()
  const daemon: ScriptedClamd = {
    url: '',
    script,
    streams: 0,
    open: 0,
    mostOpen: 0,
    taken: 0,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    daemon.open++
    daemon.mostOpen = Math.max(daemon.mostOpen, daemon.open)
    socket.on('close', () => {
      sockets.delete(socket)
      daemon.open--
    })
    socket.on('error', () => {})
    serve(socket, daemon)
  })
  const path = join(folder, 'clamd.sock')
  await new Promise<void>((resolve) =>
    listen === 'unix' ? server.listen(path, resolve) : server.listen(0, '127.0.0.1', resolve),
  )
  daemon.url = listen === 'unix' ? `clamd://${path}` : `clamd://127.0.0.1:${(server.address() as AddressInfo).port}`
  return daemon
}

function serve(socket: Socket, daemon: ScriptedClamd): void {
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
      if (command === 'zINSTREAM') daemon.streams++
      else return void socket.end(reply(command, daemon.script))
    }
    const { script } = daemon
    if (script.pauseMs) {
      socket.pause()
      setTimeout(() => socket.resume(), script.pauseMs).unref()
    }
    while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
      const piece = pending.subarray(4, 4 + pending.readUInt32BE(0))
      pending = pending.subarray(4 + piece.length)
      size += piece.length
      daemon.taken += piece.length
      // What is large is counted, not kept: these tests look at memory.
      if (size < 2_000_000) stream.push(Buffer.from(piece))
      if (script.dieAfter !== undefined && size >= script.dieAfter) return void socket.resetAndDestroy()
      if (script.limit !== undefined && size > script.limit) {
        socket.pause()
        socket.removeAllListeners('data')
        return void socket.end('INSTREAM size limit exceeded. ERROR\0', () => socket.destroy())
      }
      if (piece.length === 0 && !script.mute) return void socket.end(answer(script, Buffer.concat(stream)))
    }
  })
}

function answer({ answer: told = faithful }: Script, stream: Buffer): string {
  return typeof told === 'string' ? told : told(stream)
}

function reply(command: string, script: Script): string {
  if (command === 'zPING') return 'PONG\0'
  return command === 'zVERSION' ? `${script.version ?? 'ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026'}\0` : 'UNKNOWN COMMAND\0'
}
