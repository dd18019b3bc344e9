import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { readChunks } from '../../src/platform/spool/chunks.js'

const buffers = (...texts: string[]) => texts.map((text) => Buffer.from(text))
const createStream = (...texts: string[]) => {
  const stream = new PassThrough()
  for (const chunk of buffers(...texts)) stream.write(chunk)
  return stream
}

test('the chunk reader returns buffered chunks unchanged', async () => {
  const stream = createStream('one', 'two', 'three')
  const observed: string[] = []
  for await (const chunk of readChunks(stream)) {
    observed.push(chunk.toString())
    if (observed.length === 3) {
      stream.write('four')
      stream.end('five')
    }
  }
  expect(observed).toEqual(['one', 'two', 'three', 'four', 'five'])
})

test('the chunk reader returns nothing for an empty stream', async () => {
  expect(await Readable.from([]).toArray()).toEqual([])
  for await (const chunk of readChunks(new PassThrough().end())) throw new Error(`${chunk}`)
})

test('the chunk reader waits for a slow consumer', async () => {
  let created = 0
  const source = new Readable({
    highWaterMark: 10,
    read() {
      created++
      this.push(created <= 100 ? Buffer.alloc(10) : null)
    },
  })
  let taken = 0
  for await (const chunk of readChunks(source)) {
    taken += chunk.length
    await sleep(1)
    expect(created * 10 - taken).toBeLessThanOrEqual(30)
  }
  expect(taken).toBe(1000)
})

describe('a stream that fails', () => {
  const readAll = async (stream: Readable) => {
    const observed: string[] = []
    try {
      for await (const chunk of readChunks(stream)) observed.push(chunk.toString())
    } catch (error) {
      return [...observed, (error as Error & { code?: string }).code ?? (error as Error).message]
    }
    return observed
  }

  test('the chunk reader returns the chunks before a stream error, then rejects', async () => {
    const stream = createStream('one', 'two')
    setTimeout(() => stream.destroy(new Error('broken')), 20)
    expect(await readAll(stream)).toEqual(['one', 'two', 'broken'])
  })

  test('the chunk reader rejects if the stream closes early, with or without an error', async () => {
    const stream = createStream('one')
    setTimeout(() => stream.destroy(), 20)
    expect(await readAll(stream)).toEqual(['one', 'ERR_STREAM_PREMATURE_CLOSE'])
    const closed = new PassThrough()
    closed.destroy()
    await once(closed, 'close')
    expect(await readAll(closed)).toEqual(['ERR_STREAM_PREMATURE_CLOSE'])
  })
})

test('the chunk reader destroys its stream and removes listeners if the consumer stops early', async () => {
  const stream = createStream('one', 'two')
  const before = stream.listenerCount('data')
  for await (const chunk of readChunks(stream)) {
    expect(chunk.toString()).toBe('one')
    break
  }
  expect(stream.destroyed).toBe(true)
  expect(stream.listenerCount('data')).toBe(before)
})
