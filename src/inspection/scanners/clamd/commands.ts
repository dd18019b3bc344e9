import { toPrintableText } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import type { UnverifiedVerdict } from '../verdict.js'
import type { EngineIdentity } from '../virus-scanner.js'
import { type ClamdAddress, type ClamdDeadlines, ClamdFault, type ExchangeWriter, exchange } from './exchange.js'

// The npm package `clamscan` 2.4.0 is not used for INSTREAM. It has no backpressure, waits forever if the daemon does not
// respond, and treats an empty response as success.

const chunkSize = 64 * 1024
const endMarker = Buffer.alloc(4)
const command = Buffer.from('zINSTREAM\0')

/** Connection to ClamAV. Methods resolve to response lines in clamd's format, or throw `ClamdFault` if there is no response. */
export interface ClamdConnector {
  queryVersion(address: ClamdAddress, signal: AbortSignal): Promise<string>
  scan(address: ClamdAddress, content: Content, signal: AbortSignal): Promise<string>
}

/** Deadlines for commands that clamd answers without scanning. */
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

/** Streams content to the daemon with backpressure. Returns the response line, or throws `ClamdFault` or the signal's reason. */
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
      // Yield to the event loop to read a pending response, which a write to a closed connection (EPIPE) would discard.
      await yieldToEventLoop()
      await writer.write(frameChunk(chunk.subarray(at, at + chunkSize)))
    }
  }
  await writer.write(endMarker)
}

/**
 * Checks whether content exceeds clamd's StreamMaxLength. Sends only the declared length of a chunk and no content, because a
 * client that is still sending may lose the error when clamd closes the connection. Returns undefined for any other response.
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

/** Parsed line of a clamd response. `error` means that clamd reported neither a virus nor a clean file. */
type ClamdResponse = UnverifiedVerdict | { verdict: 'error'; message: string }

/** Parses a scan response (clamd(8)). All lines other than `stream: OK` and `stream: NAME FOUND` are errors. */
export function parseScanResponse(line: string): ClamdResponse {
  if (line === 'stream: OK') return { verdict: 'clean' }
  const found = /^stream: (\S+) FOUND$/.exec(line)?.[1]
  if (found !== undefined) return parseSignature(found)
  if (isSizeLimitError(line)) return { verdict: 'incomplete', reason: "the file exceeds clamd's StreamMaxLength" }
  return { verdict: 'error', message: line === '' ? 'an empty response' : `the response '${toPrintableText(line)}'` }
}

const isSizeLimitError = (line: string): boolean => line === 'INSTREAM size limit exceeded. ERROR'

// With AlertEncrypted and AlertExceedsMax, clamd reports unscannable content as a signature match.
function parseSignature(signature: string): ClamdResponse {
  // If clamd aborts a scan, the response contains `(null)` instead of a name.
  if (signature.startsWith('(null)'))
    return { verdict: 'incomplete', reason: 'clamd stopped the scan without giving a reason (it replied "(null) FOUND")' }
  if (signature.startsWith('Heuristics.Encrypted.'))
    return { verdict: 'incomplete', reason: `a part of the file is encrypted (${toPrintableText(signature)})` }
  if (signature.startsWith('Heuristics.Limits.'))
    return { verdict: 'incomplete', reason: `the file exceeds clamd's limits (${toPrintableText(signature)})` }
  return { verdict: 'infected', signature: toPrintableText(signature) }
}

/**
 * Parses a version such as `ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026`, or `ClamAV 1.4.6` if only custom databases are loaded.
 * The date is in the daemon's time zone but parsed as UTC, because only the day matters. Returns undefined for other lines.
 */
export function parseVersion(line: string): EngineIdentity | undefined {
  const [engine = '', signatures, date] = line.split('/')
  const version = /^ClamAV (\S+)/.exec(engine)?.[1]
  if (!version) return undefined
  const time = date ? Date.parse(`${date.trim()} UTC`) : Number.NaN
  return {
    name: 'ClamAV',
    version,
    signaturesVersion: signatures?.trim() || 'unversioned',
    signaturesDate: Number.isNaN(time) ? null : new Date(time),
  }
}
