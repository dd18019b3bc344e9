import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { ClamdScanner } from '../../src/inspection/scanners/clamd/clamd.js'
import { parseClamdUrl } from '../../src/inspection/scanners/clamd/exchange.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { clean, createFileContent, createMemoryContent } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { type ClamdEmulator, type Script, startClamdEmulator } from '../support/scripted-clamd.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const tooLong = { verdict: 'incomplete', reason: expect.stringContaining('StreamMaxLength') }
const unavailable = { code: 'scanner_unavailable' }

/** Runs `work` `runs` times, eight concurrently. */
async function repeat<T>(runs: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let remaining = runs
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (remaining-- > 0) results.push(await work())
    }),
  )
  return results
}

describe.each(['tcp', 'unix'] as const)('files above StreamMaxLength, with a clamd emulator over %s', (listen) => {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close()
  })

  async function start(script: Script): Promise<{ daemon: ClamdEmulator; scanner: ClamdScanner }> {
    const daemon = await startClamdEmulator(script, listen)
    const scanner = new ClamdScanner([parseClamdUrl(daemon.url)], {
      declared: { largest: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY },
    })
    opened.push(daemon, scanner)
    return { daemon, scanner }
  }

  const limits = [0, 1, 60_000, 64 * 1024, 64 * 1024 + 1, 1_000_000]
  test.each(limits)("reports clamd's size limit if clamd states it after %d bytes and resets the connection", async (limit) => {
    const { scanner } = await start({ limit, limitResponse: 'reset behind' })
    const file = createMemoryContent(Buffer.alloc(3 * mebibyte, 'x'))
    const verdicts = await repeat(24, () => scanner.scan(file, never()))
    expect(verdicts).toMatchObject(Array(24).fill(tooLong))
  })

  test.each(limits)("queries clamd's size limit if the connection is reset without a message after %d bytes", async (limit) => {
    const { daemon, scanner } = await start({ limit, limitResponse: 'lost' })
    const file = createMemoryContent(Buffer.alloc(3 * mebibyte, 'x'))
    const verdicts = await repeat(24, () => scanner.scan(file, never()))
    expect(verdicts).toMatchObject(Array(24).fill(tooLong))
    expect(daemon.rejectedLengths).toBe(24)
  })

  test('scans a file of exactly StreamMaxLength bytes completely, but not a larger file', async () => {
    const { daemon, scanner } = await start({ limit: 100_000, limitResponse: 'lost' })
    expect(await scanner.scan(createMemoryContent(Buffer.alloc(100_000)), never())).toEqual(clean)
    expect(daemon.rejectedLengths).toBe(0)
    expect(await scanner.scan(createMemoryContent(Buffer.alloc(100_001)), never())).toMatchObject(tooLong)
  })

  test.each([1, 60_000, 64 * 1024, 1_000_000])(
    'returns no verdict if the connection is reset after %d bytes for a reason other than the size limit',
    async (dieAfter) => {
      const { daemon, scanner } = await start({ dieAfter, limit: 3 * mebibyte })
      const file = createMemoryContent(Buffer.alloc(2 * mebibyte, 'x'))
      await expect(scanner.scan(file, never())).rejects.toMatchObject({
        ...unavailable,
        cause: { message: expect.stringContaining('closed the connection') },
      })
      expect(daemon.rejectedLengths).toBe(0)
    },
  )

  test('returns no verdict if clamd is unavailable when its size limit is queried', async () => {
    const { daemon, scanner } = await start({ dieAfter: 1_000 })
    const file = createMemoryContent(Buffer.alloc(2 * mebibyte, 'x'))
    const scanned = expect(scanner.scan(file, never())).rejects.toMatchObject(unavailable)
    await until(() => daemon.streams > 0)
    await daemon.close()
    opened.shift()
    await scanned
  })

  test('detects a client that disconnects during the size limit query', async () => {
    const { daemon, scanner } = await start({ dieAfter: 1_000, hold: true })
    const controller = new AbortController()
    const scan = scanner.scan(createMemoryContent(Buffer.alloc(2 * mebibyte)), { signal: controller.signal })
    const scanned = expect(scan).rejects.toThrow('gone')
    await until(() => daemon.requests > 1)
    controller.abort(new Error('gone'))
    await scanned
  })
})

describeWith('clamd')('files above StreamMaxLength, with a real clamd', () => {
  let daemon: RealClamd
  const scanners: VirusScanner[] = []

  beforeAll(async () => {
    daemon = await startRealClamd(['StreamMaxLength 1M'])
    for (const url of [daemon.tcpUrl, daemon.unixUrl]) scanners.push(await openScanner(url))
  })

  afterAll(async () => {
    for (const scanner of scanners) await scanner.close()
    await daemon?.close()
  })

  test.each([
    ['one byte', mebibyte + 1],
    ['one chunk', mebibyte + 64 * 1024],
    ['several megabytes', 6 * mebibyte],
  ])(
    'reports a file as incompletely scanned if it exceeds StreamMaxLength by %s',
    async (_, size) => {
      const file = await createFileContent(Buffer.alloc(size, 'x'))
      try {
        for (const scanner of scanners) {
          for (const content of [createMemoryContent(Buffer.alloc(size, 'x')), file]) {
            const verdicts = await repeat(50, () => scanner.scan(content, never()))
            expect(verdicts).toMatchObject(Array(50).fill(tooLong))
          }
        }
      } finally {
        await file.remove()
      }
    },
    120_000,
  )

  test('returns the correct verdicts for concurrent scans of files above and below StreamMaxLength', async () => {
    for (const scanner of scanners) {
      const contents = Array.from({ length: 16 }, (_, index) =>
        createMemoryContent(Buffer.alloc((index % 2) * 2 * mebibyte + 1_000, 'x')),
      )
      const verdicts = await Promise.all(contents.map((content) => scanner.scan(content, never())))
      expect(verdicts.map(({ verdict }) => verdict)).toEqual(contents.map((_, index) => (index % 2 ? 'incomplete' : 'clean')))
    }
  })
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
