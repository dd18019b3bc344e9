import { createGunzip, createInflate, createInflateRaw, type InflateRaw, inflateRawSync, inflateSync } from 'node:zlib'

/** The codes with which zlib says that the data, and not we, are at fault. */
const dataFaults = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT', 'Z_STREAM_ERROR', 'ERR_TRAILING_JUNK_AFTER_STREAM_END'])

export function inflateFault(error: unknown): string | undefined {
  const { code, message } = error as { code?: string; message?: string }
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'it unpacks to far more than its header says'
  return code !== undefined && dataFaults.has(code) ? (message ?? code) : undefined
}

const engines = { raw: createInflateRaw, zlib: createInflate, gzip: createGunzip }

/** Inflates in bounded memory. `consumed` hears how many bytes of the input the deflate data really had. */
export async function* inflated(
  kind: keyof typeof engines,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  consumed?: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const engine = engines[kind]({ chunkSize: 256 * 1024 })
  const feeding = feed(engine as InflateRaw, chunks)
  try {
    for await (const chunk of engine) yield chunk as Buffer
    consumed?.((engine as InflateRaw).bytesWritten)
    const fault = await feeding
    if (fault) throw fault
  } catch (error) {
    engine.destroy()
    throw (await feeding) ?? error
  } finally {
    engine.destroy()
    await feeding
  }
}

/** One chunk after the other, each only once the last one is used up: a chunk is not valid for longer. */
async function feed(engine: InflateRaw, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<unknown> {
  try {
    for await (const chunk of chunks) {
      if (engine.destroyed || engine.readableEnded) break
      await new Promise<void>((resolve) => {
        engine.once('close', resolve)
        engine.write(chunk, () => {
          engine.off('close', resolve)
          resolve()
        })
      })
    }
    if (!engine.destroyed) engine.end()
    return undefined
  } catch (error) {
    engine.destroy()
    return error
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
