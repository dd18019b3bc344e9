import { finished, type Readable } from 'node:stream'

/**
 * The chunks of a stream as they came, for a reader that takes its time with each. A stream's own iterator joins what has piled up
 * meanwhile: of a large upload that is a copy of nearly everything, and twice the work for the garbage collector. Left early, it
 * destroys the stream, as that does.
 */
export async function* chunks(source: Readable): AsyncGenerator<Buffer> {
  const waiting: Buffer[] = []
  let end: { error?: unknown } | undefined
  let wake = () => {}
  const onData = (chunk: Buffer) => {
    waiting.push(chunk)
    source.pause()
    wake()
  }
  const forget = finished(source, { writable: false }, (error) => {
    end = error ? { error } : {}
    wake()
  })
  source.on('data', onData)
  try {
    for (;;) {
      const chunk = waiting.shift()
      if (chunk) {
        yield chunk
        continue
      }
      if (end?.error) throw end.error
      if (end) return
      const more = new Promise<void>((resolve) => {
        wake = resolve
      })
      source.resume()
      await more
    }
  } finally {
    forget()
    source.off('data', onData)
    if (!end) source.destroy()
  }
}
