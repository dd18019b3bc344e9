import type { Content } from '../../../platform/spool/content.js'
import { type ClamdAddress, type ClamdDeadlines, ClamdFault, type ExchangeWriter, exchange } from './exchange.js'
import { isSizeLimitError } from './response.js'

// The npm package `clamscan` 2.4.0 is not used for INSTREAM. It has no backpressure: 300 MiB of a stream accumulated in memory.
// Its promise never settles if the daemon does not respond or the input is destroyed. An input error while connecting is an
// uncaught exception. An empty response resolves the promise, and the size limit error may be lost.

const chunkSize = 64 * 1024
const endMarker = Buffer.alloc(4)
const command = Buffer.from('zINSTREAM\0')

/**
 * Connection to a ClamAV engine. Its methods resolve to response lines in clamd's format, and throw `ClamdFault` if there is no
 * response.
 */
export interface ClamdConnector {
  queryVersion(address: ClamdAddress, signal: AbortSignal): Promise<string>
  scan(address: ClamdAddress, content: Content, signal: AbortSignal): Promise<string>
}

/** Deadlines of commands that clamd answers without a scan. */
const shortDeadlines: ClamdDeadlines = { connectMs: 2_000, idleMs: 5_000, answerMs: 5_000, overallMs: 5_000 }

export function createSocketConnector(deadlines: ClamdDeadlines): ClamdConnector {
  return {
    queryVersion: (address, signal) => queryClamd(address, 'VERSION', shortDeadlines, signal),
    scan: (address, content, signal) => sendToClamd(address, content, deadlines, signal),
  }
}

export function queryClamd(
  address: ClamdAddress,
  request: string,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  return exchange(address, deadlines, signal, (line) => line.write(Buffer.from(`z${request}\0`)))
}

/**
 * Streams content to the daemon with backpressure, and returns the response line. Throws `ClamdFault`, or the signal's reason.
 */
export async function sendToClamd(
  address: ClamdAddress,
  content: Content,
  deadlines: ClamdDeadlines,
  signal?: AbortSignal,
): Promise<string> {
  try {
    return await exchange(address, deadlines, signal, (line) => sendContent(content, line))
  } catch (fault) {
    if (!(fault instanceof ClamdFault) || fault.line !== 'cut') throw fault
    const sizeError = await querySizeLimit(address, content.size, signal)
    signal?.throwIfAborted()
    if (sizeError === undefined) throw fault
    return sizeError
  }
}

async function sendContent(content: Content, writer: ExchangeWriter): Promise<void> {
  if (content.bytes && content.bytes.length <= chunkSize)
    return writer.write(Buffer.concat([command, frameChunk(content.bytes), endMarker]))
  await writer.write(command)
  for await (const chunk of content.bytes ? [content.bytes] : content.stream()) {
    for (let at = 0; at < chunk.length; at += chunkSize) {
      // Stop sending if the daemon has already responded, for example because a limit is exceeded.
      if (writer.over) return
      // Yield to the event loop, so that a response is usually read before a write to a closed connection (EPIPE) discards it.
      await yieldToEventLoop()
      await writer.write(frameChunk(chunk.subarray(at, at + chunkSize)))
    }
  }
  await writer.write(endMarker)
}

/**
 * Checks whether content exceeds clamd's StreamMaxLength. If it does, clamd responds with an error and closes the connection.
 * Closing can reset the connection before a client that is still sending has read the response. This function therefore repeats
 * the command with one chunk's length but without its bytes, so that no unread bytes can cause a reset. Returns undefined for
 * any other response.
 */
async function querySizeLimit(address: ClamdAddress, size: number, signal: AbortSignal | undefined): Promise<string | undefined> {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(Math.min(size, 0xffff_ffff))
  const exchanged = exchange(address, shortDeadlines, signal, (line) => line.end(Buffer.concat([command, length])))
  const answer = await exchanged.catch(() => undefined)
  return answer !== undefined && isSizeLimitError(answer) ? answer : undefined
}

const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

function frameChunk(chunk: Buffer): Buffer {
  if (chunk.length === 0) return chunk
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(chunk.length)
  return Buffer.concat([length, chunk])
}
