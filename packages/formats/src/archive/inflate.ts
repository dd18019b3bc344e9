import { constants, createGunzip, createInflate, createInflateRaw, inflateRawSync, inflateSync } from 'node:zlib'

/** The codes with which zlib says that the data, and not we, are at fault. */
const dataFaults = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT', 'Z_STREAM_ERROR', 'ERR_TRAILING_JUNK_AFTER_STREAM_END'])

export function inflateFault(error: unknown): string | undefined {
  const { code, message } = error as { code?: string; message?: string }
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'it unpacks to far more than its header says'
  return code !== undefined && dataFaults.has(code) ? (message ?? code) : undefined
}

const engines = { raw: createInflateRaw, zlib: createInflate, gzip: createGunzip }
type Kind = keyof typeof engines

const nothing = Buffer.alloc(0)
const roomBytes = 64 * 1024
/** Kept by the thread for the next stream: one for each that was open at once. */
const idle: Record<Kind, Inflater[]> = { raw: [], zlib: [], gzip: [] }

/** Inflates in bounded memory: a chunk is valid until the next is asked for. `consumed` hears how many bytes of the input the deflate data really had. */
export async function* inflated(
  kind: Kind,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  consumed?: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const inflater = idle[kind].pop() ?? new Inflater(kind)
  try {
    for await (const chunk of chunks) {
      yield* inflater.unpacked(chunk, constants.Z_NO_FLUSH)
      if (inflater.ended) break
    }
    if (!inflater.ended) yield* inflater.unpacked(nothing, constants.Z_FINISH)
    consumed?.(inflater.consumed)
  } finally {
    inflater.reset()
    idle[kind].push(inflater)
  }
}

interface ZlibHandle {
  onerror(message: string, errno: number, code: string): void
  writeSync(flush: number, from: Buffer, start: number, length: number, to: Buffer, at: number, room: number): void
  reset(): void
}

/**
 * zlib below Node's streams, in the way that npm's own `minizlib` takes it: a stream allocates what it gives, and goes to another thread
 * and back for every piece, which takes longer than most pieces.
 */
class Inflater {
  consumed = 0
  /** Whether the deflate data was over before its input. */
  ended = false
  readonly #handle: ZlibHandle
  /** What the last call left of its room, and of its input. */
  readonly #left: Uint32Array
  readonly #room = Buffer.allocUnsafeSlow(roomBytes)
  #fault: Error | undefined

  constructor(kind: Kind) {
    // Without a size, the first stream's own window would be the most that the next may have.
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

  *unpacked(chunk: Buffer, flush: number): Generator<Buffer> {
    for (let at = 0; ; ) {
      this.#handle.writeSync(flush, chunk, at, chunk.length - at, this.#room, 0, roomBytes)
      if (this.#fault) throw this.#fault
      const [roomLeft, left] = this.#left as unknown as [number, number]
      this.consumed += chunk.length - left - at
      at = chunk.length - left
      if (roomLeft < roomBytes) yield this.#room.subarray(0, roomBytes - roomLeft)
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

export const atOnce = { input: 256 * 1024, output: 1024 * 1024 }

/** One buffer for all of it and a byte more: zlib's own chunks of 16 KiB would be put together again. */
export const roomFor = (bytes: number): number => Math.min(Math.max(bytes + 1, 64), atOnce.output + 1)

/** Undefined where it is damaged, or more than `most`: a stream gives what there is. */
export function inflatedAtOnce(kind: 'raw' | 'zlib', packed: Buffer, most: number, announced = 0): Buffer | undefined {
  const options = { maxOutputLength: most, ...(announced > 0 && { chunkSize: roomFor(announced) }) }
  try {
    return kind === 'raw' ? inflateRawSync(packed, options) : inflateSync(packed, options)
  } catch {
    return undefined
  }
}
