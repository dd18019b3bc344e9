import { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from '@jest/globals'
import { parseScanResponse, parseVersion } from '../../src/inspection/scanners/clamd/commands.js'
import type { Content } from '../../src/platform/spool/content.js'
import { closeAll, createScanner, startDaemon } from '../support/clamd-scanner.js'
import { createMemoryContent } from '../support/eicar.js'
import { type Script } from '../support/scripted-clamd.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const text = createMemoryContent('Nothing to be seen here.\n')
const unavailable = { code: 'scanner_unavailable' }

afterEach(closeAll)

/** Creates a stream of this size that is generated in chunks. */
function endless(size: number, onChunk = () => {}): Content {
  const chunk = Buffer.alloc(64 * 1024, 'endless ')
  const stream = (range = { start: 0, end: size - 1 }) =>
    Readable.from(
      (function* () {
        for (let at = range.start; at <= range.end; at += chunk.length) {
          if (range.end === size - 1) onChunk()
          yield chunk.subarray(0, Math.min(chunk.length, range.end + 1 - at))
        }
      })(),
    )
  return { size, sha256: '', path: '/nowhere', stream }
}

describe('clamd response parsing', () => {
  test.each([
    ['stream: OK', { verdict: 'clean' }],
    ['stream: Win.Test.EICAR_HDB-1 FOUND', { verdict: 'infected', signature: 'Win.Test.EICAR_HDB-1' }],
    ['stream: Heuristics.Encrypted.Zip FOUND', { verdict: 'incomplete' }],
    ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND', { verdict: 'incomplete' }],
    ['stream: Heuristics.OLE2.ContainsMacros FOUND', { verdict: 'infected' }],
    ['INSTREAM size limit exceeded. ERROR', { verdict: 'incomplete' }],
    ['stream: Can not allocate memory ERROR', { verdict: 'error' }],
    ['stream:  FOUND', { verdict: 'error' }],
    ['stream: OK stream: OK', { verdict: 'error' }],
    ['UNKNOWN COMMAND', { verdict: 'error' }],
    ['HTTP/1.1 400 Bad Request', { verdict: 'error' }],
    ['', { verdict: 'error' }],
  ])("parses the clamd response '%s'", (line, meaning) => {
    expect(parseScanResponse(line)).toMatchObject(meaning)
  })

  test('parses a clamd version with and without a database version', () => {
    expect(parseVersion('ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026')).toEqual({
      name: 'ClamAV',
      version: '1.4.6',
      signaturesVersion: '27900',
      signaturesDate: new Date('2026-11-20T09:12:13Z'),
    })
    expect(parseVersion('ClamAV 1.4.6')).toEqual({
      name: 'ClamAV',
      version: '1.4.6',
      signaturesVersion: 'unversioned',
      signaturesDate: null,
    })
    expect(parseVersion('ClamAV 1.4.6/27900/some day')).toMatchObject({ signaturesVersion: '27900', signaturesDate: null })
    expect(parseVersion('220 ready')).toBeUndefined()
  })
})

describe('unexpected clamd responses', () => {
  test.each<[string, Script]>([
    ['an ERROR', { response: 'stream: Can not allocate memory ERROR\0' }],
    ['an empty reply', { response: '' }],
    ['an empty line', { response: '\0' }],
    ['half a line', { response: 'stream: O' }],
    ['a complete line without its end', { response: 'stream: OK' }],
    ['garbage', { response: '\x01\x02\xff{"ok":true}\0' }],
    ['garbage without an end', { response: 'x'.repeat(100_000) }],
    ['a signature without a name', { response: 'stream:  FOUND\0' }],
    ['another protocol', { response: 'HTTP/1.1 400 Bad Request\r\n\r\n\0' }],
  ])('reports the scanner as unavailable if clamd responds with %s', async (_, script) => {
    const scanner = createScanner([await startDaemon(script)])
    await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
  })

  test.each(['Heuristics.Encrypted.PDF', 'Heuristics.Limits.Exceeded.MaxScanSize'])(
    'reports a scan as incomplete if clamd finds %s',
    async (signature) => {
      const scanner = createScanner([await startDaemon({ response: `stream: ${signature} FOUND\0` })])
      expect(await scanner.scan(text, never())).toMatchObject({ verdict: 'incomplete' })
    },
  )

  test('reports a scan as incomplete if clamd reports its size limit during the transfer', async () => {
    const daemon = await startDaemon({ limit: mebibyte })
    let chunks = 0
    const scanner = createScanner([daemon])
    const verdict = await scanner.scan(
      endless(50 * mebibyte, () => chunks++),
      never(),
    )
    expect(verdict).toMatchObject({ verdict: 'incomplete', reason: expect.stringContaining('StreamMaxLength') })
    expect(chunks).toBeLessThan(400)
  })

  test('reports clamd as unavailable if it is killed during a scan', async () => {
    const daemon = await startDaemon({ dieAfter: mebibyte })
    await expect(createScanner([daemon]).scan(endless(50 * mebibyte), never())).rejects.toMatchObject(unavailable)
    expect(daemon.streams).toBe(2)
  })

  test('times out a clamd scan without a retry if the daemon does not respond', async () => {
    const daemon = await startDaemon({ mute: true })
    const scanner = createScanner([daemon], { deadlines: { answerMs: 1000 } })
    const because = { message: expect.stringContaining('1000 ms') }
    await expect(scanner.scan(text, never())).rejects.toMatchObject({ ...unavailable, cause: because })
    expect(daemon.streams).toBe(1)
  })

  test('times out a clamd scan if the daemon stops reading the file', async () => {
    const daemon = await startDaemon({ pauseMs: 60_000 })
    const scanner = createScanner([daemon], { deadlines: { idleMs: 1000 } })
    const startedAt = performance.now()
    const because = { message: expect.stringContaining('1000 ms') }
    await expect(scanner.scan(endless(50 * mebibyte), never())).rejects.toMatchObject({ ...unavailable, cause: because })
    expect(performance.now() - startedAt).toBeLessThan(1800)
  })

  test('times out a clamd scan at its total deadline if the daemon responds slowly', async () => {
    const daemon = await startDaemon({ pauseMs: 20 })
    const scanner = createScanner([daemon], { deadlines: { overallMs: 150 } })
    await expect(scanner.scan(endless(500 * mebibyte), never())).rejects.toMatchObject({
      cause: { message: expect.stringContaining('150 ms') },
    })
  })

  test('reports the scanner as unavailable if the file content cannot be read', async () => {
    const deleted: Content = {
      ...endless(mebibyte),
      stream: () =>
        new Readable({
          read() {
            this.destroy(new Error('ENOENT: it was here a moment ago'))
          },
        }),
    }
    await expect(createScanner([await startDaemon({})]).scan(deleted, never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('could not be read'),
    })
  })

  test('closes the connection of an aborted clamd scan immediately', async () => {
    const daemon = await startDaemon({ mute: true })
    const scanner = createScanner([daemon])
    const controller = new AbortController()
    const scanned = scanner.scan(text, { signal: controller.signal })
    await until(() => daemon.streams === 1)
    controller.abort(new Error('gone'))
    await expect(scanned).rejects.toThrow('gone')
    await until(() => daemon.open === 0)
  })
})

test('does not buffer unsent content if clamd is slow', async () => {
  const daemon = await startDaemon({ pauseMs: 1 })
  let sent = 0
  let maxUnsent = 0
  const file = endless(64 * mebibyte, () => {
    sent += 64 * 1024
    maxUnsent = Math.max(maxUnsent, sent - daemon.receivedBytes)
  })
  expect(await createScanner([daemon]).scan(file, never())).toMatchObject({ verdict: 'clean' })
  expect(daemon.receivedBytes).toBe(64 * mebibyte)
  // Socket buffers on both sides count towards the limit of unsent bytes.
  expect(maxUnsent).toBeLessThan(12 * mebibyte)
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
