import type { Content } from '../../../platform/spool/content.js'
import type { ClamdAddress } from './address.js'
import { saysTooLong } from './answer.js'
import { type ClamdDeadlines, ClamdFault, exchange, type Line } from './exchange.js'

// The npm package `clamscan` 2.4.0 is not used. It has no backpressure: 300 MiB of a stream accumulated in memory. It never settles
// if the daemon is silent or the input is destroyed. An input error during connection is an uncaught exception. An empty reply
// resolves, and the reply about the size limit may be lost. The protocol has two commands: see clamd(8).

const chunkSize = 64 * 1024
const noMore = Buffer.alloc(4)
const command = Buffer.from('zINSTREAM\0')

export function askClamd(
  address: ClamdAddress,
  question: string,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  return exchange(address, deadlines, signal, (line) => line.write(Buffer.from(`z${question}\0`)))
}

/**
 * Streams the content to the daemon, never more of it in memory than the socket's buffer, and resolves with the line that comes back.
 * Throws `ClamdFault`, or the signal's reason.
 */
export async function sendToClamd(
  address: ClamdAddress,
  content: Content,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  try {
    return await exchange(address, deadlines, signal, (line) => send(content, line))
  } catch (fault) {
    if (!(fault instanceof ClamdFault) || fault.line !== 'cut') throw fault
    const word = await askWhetherTooLong(address, content.size, deadlines, signal)
    signal?.throwIfAborted()
    if (word === undefined) throw fault
    return word
  }
}

async function send(content: Content, line: Line): Promise<void> {
  if (content.bytes && content.bytes.length <= chunkSize)
    return line.write(Buffer.concat([command, frameChunk(content.bytes), noMore]))
  await line.write(command)
  for await (const chunk of content.bytes ? [content.bytes] : content.stream()) {
    for (let at = 0; at < chunk.length; at += chunkSize) {
      // The daemon may have said its word already (over its limit, say): then the rest is of no use.
      if (line.over) return
      // A turn of the event loop, so that this word is mostly read before the next chunk meets a closed connection (EPIPE), which loses it.
      await nextTurn()
      await line.write(frameChunk(chunk.subarray(at, at + chunkSize)))
    }
  }
  await line.write(noMore)
}

const askMs = 5_000

/**
 * Above its StreamMaxLength, clamd replies with an error and closes the connection. A client that is still sending may receive a reset
 * instead of the reply. Therefore this repeats the command with the length of one chunk and without its bytes. clamd rejects a chunk
 * above the limit by its length, and no unread bytes can cause a reset. Returns undefined for any other reply: the first error counts.
 */
async function askWhetherTooLong(
  address: ClamdAddress,
  size: number,
  deadlines: ClamdDeadlines,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(Math.min(size, 0xffff_ffff))
  const soon = (ms: number) => Math.min(ms, askMs)
  const patience = {
    connectMs: soon(deadlines.connectMs),
    idleMs: soon(deadlines.idleMs),
    answerMs: soon(deadlines.answerMs),
    overallMs: soon(deadlines.overallMs),
  }
  const asked = exchange(address, patience, signal, (line) => line.end(Buffer.concat([command, length])))
  const answer = await asked.catch(() => undefined)
  return answer !== undefined && saysTooLong(answer) ? answer : undefined
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function frameChunk(chunk: Buffer): Buffer {
  if (chunk.length === 0) return chunk
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(chunk.length)
  return Buffer.concat([length, chunk])
}
