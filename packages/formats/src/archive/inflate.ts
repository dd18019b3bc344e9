import { constants, createGunzip, createInflate, createInflateRaw, inflateRawSync, inflateSync } from 'node:zlib'

const dataErrorCodes = new Set([
  'Z_DATA_ERROR',
  'Z_BUF_ERROR',
  'Z_NEED_DICT',
  'Z_STREAM_ERROR',
  'ERR_TRAILING_JUNK_AFTER_STREAM_END',
])

export function getInflateErrorMessage(error: unknown): string | undefined {
  const { code, message } = error as { code?: string; message?: string }
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'the data expands to far more bytes than its header declares'
  return code !== undefined && dataErrorCodes.has(code) ? (message ?? code) : undefined
}

const engines = { raw: createInflateRaw, zlib: createInflate, gzip: createGunzip }
type Kind = keyof typeof engines

const emptyBuffer = Buffer.alloc(0)
const outputBytes = 64 * 1024
const idleInflaters: Record<Kind, Inflater[]> = { raw: [], zlib: [], gzip: [] }

/**
 * Inflates chunks with bounded memory use. Each yielded chunk is valid only until the next one is requested. At the end of the
 * compressed data, `onConsumed` receives its size.
 */
export async function* inflateChunks(
  kind: Kind,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  onConsumed?: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const inflater = idleInflaters[kind].pop() ?? new Inflater(kind)
  try {
    for await (const chunk of chunks) {
      yield* inflater.inflate(chunk, constants.Z_NO_FLUSH)
      if (inflater.ended) break
    }
    if (!inflater.ended) yield* inflater.inflate(emptyBuffer, constants.Z_FINISH)
    onConsumed?.(inflater.consumed)
  } finally {
    inflater.reset()
    idleInflaters[kind].push(inflater)
  }
}

interface ZlibHandle {
  onerror(message: string, errno: number, code: string): void
  writeSync(flush: number, from: Buffer, start: number, length: number, to: Buffer, at: number, room: number): void
  reset(): void
}

/**
 * Calls Node's internal zlib binding, as npm's `minizlib` does. A zlib stream allocates a buffer and switches threads for every
 * chunk, which takes longer than inflating most chunks.
 */
class Inflater {
  consumed = 0
  /** True if the input contains bytes after the end of the deflate data. */
  ended = false
  readonly #handle: ZlibHandle
  /** Numbers of free output bytes and unread input bytes after the last call. */
  readonly #left: Uint32Array
  readonly #room = Buffer.allocUnsafeSlow(outputBytes)
  #fault: Error | undefined

  constructor(kind: Kind) {
    // The handle is reused for streams with other window sizes, so it needs the maximum window size.
    const stream = engines[kind]({ chunkSize: 64, windowBits: 15 }) as unknown as {
      _handle: ZlibHandle
      _writeState: Uint32Array
    }
    this.#handle = stream._handle
    this.#left = stream._writeState
    this.#handle.onerror = (message, _, code) => {
      this.#fault = Object.assign(new Error(message), { code })
    }
  }

  *inflate(chunk: Buffer, flush: number): Generator<Buffer> {
    for (let at = 0; ; ) {
      this.#handle.writeSync(flush, chunk, at, chunk.length - at, this.#room, 0, outputBytes)
      if (this.#fault) throw this.#fault
      const [roomLeft, left] = this.#left as unknown as [number, number]
      this.consumed += chunk.length - left - at
      at = chunk.length - left
      if (roomLeft < outputBytes) yield this.#room.subarray(0, outputBytes - roomLeft)
      if (roomLeft === 0) continue
      this.ended = left > 0
      return
    }
  }

  reset(): void {
    this.#handle.reset()
    this.#fault = undefined
    this.consumed = 0
    this.ended = false
  }
}

export const singleCallLimits = { input: 256 * 1024, output: 1024 * 1024 }

/**
 * Returns the size of an output buffer that can hold the whole result. By default, zlib would have to concatenate chunks of 16
 * KiB.
 */
export const getOutputBufferSize = (bytes: number): number => Math.min(Math.max(bytes + 1, 64), singleCallLimits.output + 1)

/** Inflates data in one call. Returns undefined if the data is damaged or expands to more than `maxBytes`. */
export function inflateToBuffer(kind: 'raw' | 'zlib', packed: Buffer, maxBytes: number, declaredBytes = 0): Buffer | undefined {
  const options = { maxOutputLength: maxBytes, ...(declaredBytes > 0 && { chunkSize: getOutputBufferSize(declaredBytes) }) }
  try {
    return kind === 'raw' ? inflateRawSync(packed, options) : inflateSync(packed, options)
  } catch {
    return undefined
  }
}
