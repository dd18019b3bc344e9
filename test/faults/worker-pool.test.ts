import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { walkLimits } from '@assay/formats/walk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { gif, pdf, png, wav } from '../../packages/formats/test/support/samples/basic.js'
import { createInspector, type InspectorOptions } from '../../src/inspection/engine/inspect.js'
import type { ValidationReport } from '../../src/inspection/report.js'
import { createZip } from '../support/eicar.js'
import { createSubmission, ScriptedScanner, storeOnDisk } from '../support/validation.js'

// Workers are real threads that run the compiled engine with a module whose readers misbehave on request.
const readerModule = pathToFileURL('test/support/hostile-readers.mjs').href
const words = Buffer.from('some words\n')
const open: ReturnType<typeof createInspector>[] = []
let folder = ''

const start = (options: Partial<InspectorOptions> = {}) => {
  const inspector = createInspector({
    scanner: new ScriptedScanner({ verdict: 'clean' }),
    readerModule,
    workers: 2,
    deadlineMs: 20_000,
    graceMs: 200,
    memoryMb: 32,
    ...options,
  })
  open.push(inspector)
  return inspector
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-pool-'))
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((inspector) => inspector.close()))
})
afterAll(() => rm(folder, { recursive: true }))

describe("fair scheduling of tenants' files", () => {
  test.each([1, 2])('with %d workers, does not make a file wait for all earlier files of another tenant', async (workers) => {
    const engine = start({ workers })
    const done: string[] = []
    const run = async (owner: string) => {
      expect(await engine.inspect({ ...createSubmission('a.slow', words), owner })).toMatchObject({ outcome: 'accepted' })
      done.push(owner)
    }
    const many = Array.from({ length: 8 }, () => run('many'))
    await run('few')
    // With two workers, the second worker processes several of the other owner's files in the meantime.
    expect(done.length).toBeLessThanOrEqual(workers === 1 ? 2 : 6)
    await Promise.all(many)
    expect(done).toHaveLength(9)
  })
})

describe('failing workers', () => {
  const expectWorkerFailure = (report: ValidationReport, worker: string) => {
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'corrupt_file' })
    expect(report.checks.map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'skipped', 'failed', 'skipped'])
    expect(report.checks[3]).toMatchObject({
      check: 'corrupt_file',
      evidence: { worker, attempts: 2 },
      message: expect.stringContaining('two workers'),
    })
  }

  test.each([
    [['die', 'throwlate'], 'died'],
    [['hang', 'never'], 'hung'],
    [['hoard'], 'out_of_memory'],
  ])('rejects a file as corrupt_file if its reader fails twice (%j)', async (extensions, worker) => {
    const inspector = start(worker === 'hung' ? { deadlineMs: 4000 } : {})
    const bad = extensions.map((extension) => inspector.inspect(createSubmission(`a.${extension}`, words)))
    const good = Array.from({ length: 5 }, () => inspector.inspect(createSubmission('a.slow', words)))
    for (const report of await Promise.all(bad)) expectWorkerFailure(report, worker)
    expect((await Promise.all(good)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('accepted'))
    expect(await inspector.inspect(createSubmission('a.slow', words))).toMatchObject({ outcome: 'accepted' })
    expect(inspector.pool.threads.size).toBeLessThanOrEqual(2)
  })

  test('rejects a file that crashes its reader, even if the context accepts damaged files', async () => {
    const report = await start().inspect(createSubmission('a.die', words, { rejectCorruptFiles: false }))
    expectWorkerFailure(report, 'died')
  })

  test.each(['dieonce', 'hangonce'])(
    'retries a file in a second worker if its reader crashes or hangs once (%s)',
    async (extension) => {
      const mark = join(folder, extension)
      expect(await start({ deadlineMs: 4000 }).inspect(createSubmission(`a.${extension}`, Buffer.from(mark)))).toMatchObject({
        outcome: 'accepted',
      })
      expect(existsSync(mark)).toBe(true)
    },
  )

  test('scans a file separately if the worker that was reading and scanning it crashed', async () => {
    const scanner = Object.assign(new ScriptedScanner({ verdict: 'clean' }), {
      scanInWorker: { setup: { id: 'own', kind: 'wasm' as const, limits: walkLimits }, deadlineOf: () => 20_000 },
    })
    const file = createSubmission('a.dieonce', Buffer.from(join(folder, 'scan')), { scanForViruses: true })
    expect(await start({ scanner, memoryMb: 256 }).inspect(file)).toMatchObject({ outcome: 'accepted' })
    expect(scanner.scanned).toBe(1)
  })

  test('reports a missing temporary file as an internal error without a verdict', async () => {
    const content = await storeOnDisk(join(folder, 'gone.txt'), words)
    await rm(join(folder, 'gone.txt'))
    await expect(start().inspect(createSubmission('gone.txt', content))).rejects.toThrow(/validation failed: .*ENOENT/s)
  })

  test('reports a corrupt file on the first attempt if its reader throws', async () => {
    const report = await start().inspect(createSubmission('a.throw', words))
    expect(report).toMatchObject({ reason: 'corrupt_file' })
    expect(report.checks[3]?.message).toContain('offset is out of range')
  })

  test('discards the output that a file reader prints', async () => {
    expect(await start().inspect(createSubmission('a.chatty', words))).toMatchObject({ outcome: 'accepted' })
  })
})

describe('worker pool limits', () => {
  test('rejects files with the error `overloaded` while the worker queue is full', async () => {
    const inspector = start({ workers: 1, maxQueue: 3 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () => inspector.inspect(createSubmission('a.slow', words))),
    )
    const rejected = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(rejected.map(({ reason }) => reason.code)).toEqual(Array(4).fill('overloaded'))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value.outcome)).toEqual(
      Array(4).fill('accepted'),
    )
  })

  test('drops the latest file of the tenant with the most queued files to make room', async () => {
    const inspector = start({ workers: 1, maxQueue: 3 })
    const run = (owner: string) => inspector.inspect({ ...createSubmission('a.slow', words), owner })
    const many = [run('many'), run('many'), run('many'), run('many')]
    const late = expect(many[3]).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('maximum of 3 files'),
      retryAfter: 1,
    })
    expect(await run('few')).toMatchObject({ outcome: 'accepted' })
    await late
    expect((await Promise.all(many.slice(0, 3))).map(({ outcome }) => outcome)).toEqual(Array(3).fill('accepted'))
  })

  test('queues a file for its second attempt even if the queue is full', async () => {
    const inspector = start({ workers: 1, maxQueue: 1 })
    const fallen = inspector.inspect(createSubmission('a.dieonce', Buffer.from(join(folder, 'full'))))
    const waiting = inspector.inspect(createSubmission('a.slow', words))
    const reports = await Promise.all([fallen, waiting])
    expect(reports.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
    expect(existsSync(join(folder, 'full'))).toBe(true)
  })

  test('starts no more workers than configured and none while the pool is idle', async () => {
    const inspector = start({ workers: 2, idleMs: 50 })
    expect(inspector.pool.threads.size).toBe(0)
    const sizes = Array.from({ length: 6 }, () =>
      inspector.inspect(createSubmission('a.slow', words)).then(() => inspector.pool.threads.size),
    )
    expect(Math.max(...(await Promise.all(sizes)))).toBe(2)
    while (inspector.pool.threads.size > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await inspector.inspect(createSubmission('a.slow', words))).toMatchObject({ outcome: 'accepted' })
  })

  test('removes a queued file if its client disconnects', async () => {
    const inspector = start({ workers: 1 })
    const busy = inspector.inspect(createSubmission('a.slow', words))
    const disconnected = new AbortController()
    const waiting = inspector.inspect(createSubmission('a.slow', words, {}, disconnected.signal))
    disconnected.abort(new Error('client went away'))
    await expect(waiting).rejects.toThrow('client went away')
    expect(await busy).toMatchObject({ outcome: 'accepted' })
  })

  test('rejects queued files and ends every worker when the worker pool is closed', async () => {
    const inspector = start({ workers: 1 })
    const both = Promise.allSettled([
      inspector.inspect(createSubmission('a.hang', words)),
      inspector.inspect(createSubmission('a.slow', words)),
    ])
    await inspector.close()
    expect((await both).map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual([
      'overloaded',
      'overloaded',
    ])
    expect(inspector.pool.threads.size).toBe(0)
  })

  test.each(['txt', 'csv', 'json', 'html'])(
    'reads a small .%s file on the main thread but a large text file in a worker',
    async (extension) => {
      const content = { txt: 'words', csv: 'a,b\n', json: '"words"', html: '<p>words' }[extension]!
      const inspector = start({ readerModule: undefined })
      expect(await inspector.inspect(createSubmission(`a.${extension}`, Buffer.from(content)))).toMatchObject({
        outcome: 'accepted',
      })
      expect(inspector.pool.threads.size).toBe(0)
      const large = Buffer.alloc(140_000, 'words ')
      expect(await inspector.inspect(createSubmission('a.txt', large))).toMatchObject({ outcome: 'accepted' })
      expect(inspector.pool.threads.size).toBeGreaterThan(0)
    },
  )

  test('decodes a WebP image in an image process and reads a PDF in a worker', async () => {
    const inspector = start({ readerModule: undefined })
    const accepting = { rejectBlankFiles: false, rejectCorruptFiles: false }
    const webp = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      .webp()
      .toBuffer()
    expect(await inspector.inspect(createSubmission('a.webp', webp, accepting))).toMatchObject({ outcome: 'accepted' })
    expect(await inspector.inspect(createSubmission('a.pdf', pdf(), accepting))).toMatchObject({ outcome: 'accepted' })
    expect([inspector.pool.processes.pids.length, inspector.pool.threads.size]).toEqual([1, 1])
  })

  test('reads small images, audio and video on the main thread', async () => {
    const inspector = start({ readerModule: undefined })
    const accepted = async (name: string, bytes: Buffer) =>
      expect(await inspector.inspect(createSubmission(name, bytes))).toMatchObject({ outcome: 'accepted' })
    await accepted('a.png', png())
    await accepted('a.gif', gif())
    await accepted('a.wav', wav())
    await accepted('a.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
    expect([inspector.pool.processes.pids.length, inspector.pool.threads.size]).toEqual([0, 0])
    const flat = sharp({ create: { width: 1000, height: 1000, channels: 3, background: 'red' } })
    await accepted('a.png', await flat.clone().png().toBuffer())
    await accepted('a.jpg', await flat.clone().jpeg().toBuffer())
    // The file readers use no native code except zlib.
    expect([inspector.pool.processes.pids.length, inspector.pool.threads.size > 0]).toEqual([0, true])
    await accepted('a.jpg', await flat.clone().jpeg({ progressive: true }).toBuffer())
    expect(inspector.pool.processes.pids.length).toBe(1)
  })

  test('reads a small archive on the main thread but a large one in a worker', async () => {
    const inspector = start({ readerModule: undefined })
    const accepted = async (name: string, bytes: Buffer) =>
      expect(await inspector.inspect(createSubmission(name, bytes))).toMatchObject({ outcome: 'accepted' })
    await accepted('a.gz', gzipSync('words'))
    await accepted('a.zip', createZip({ name: 'a', bytes: Buffer.from('words') }))
    expect(await inspector.inspect(createSubmission('a.gz', gzipSync('words').subarray(0, 20)))).toMatchObject({
      reason: 'corrupt_file',
    })
    expect(inspector.pool.threads.size).toBe(0)
    await accepted('a.gz', gzipSync(gzipSync('words')))
    await accepted('a.gz', gzipSync(Buffer.alloc(400_000, 'words')))
    expect(inspector.pool.threads.size).toBeGreaterThan(0)
  })

  test.each([
    ['a PNG with many chunks', Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100_000)])],
    ['an archive behind other data', Buffer.concat([Buffer.alloc(100_000, 1), Buffer.from('504b0506', 'hex'), Buffer.alloc(18)])],
    ['a megabyte of blanks', Buffer.alloc(1_000_000, ' ')],
    ['a GIF that its reader can open', gif()],
  ])('validates %s in a worker, regardless of the file name', async (_, content) => {
    const inspector = start({ readerModule: undefined })
    await inspector.inspect(createSubmission('a.unheard', content))
    expect(inspector.pool.threads.size + inspector.pool.processes.pids.length).toBeGreaterThan(0)
  })

  test('rejects polyglots even if damaged files are accepted', async () => {
    const page = Buffer.from(`<html><body>${' '.repeat(20)}%PDF-1.4\nstartxref\n9\n%%EOF\n`)
    const accepting = { rejectBlankFiles: false, rejectCorruptFiles: false }
    expect(await start({ readerModule: undefined }).inspect(createSubmission('a.log', page, accepting))).toMatchObject({
      reason: 'corrupt_file',
      checks: expect.arrayContaining([expect.objectContaining({ evidence: expect.objectContaining({ trap: 'polyglot' }) })]),
    })
  })

  test('accepts small and large files on disk', async () => {
    const inspector = start()
    const text = Buffer.from('line of text\n'.repeat(100_000))
    const [small, large] = await Promise.all([
      storeOnDisk(join(folder, 'small'), words).then((content) => inspector.inspect(createSubmission('a.txt', content))),
      storeOnDisk(join(folder, 'large'), text).then((content) => inspector.inspect(createSubmission('a.txt', content))),
    ])
    expect([small.outcome, large.outcome]).toEqual(['accepted', 'accepted'])
  })
})
