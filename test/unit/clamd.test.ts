import { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { Content } from '../../src/content.js'
import { type ClamdOptions, ClamdScanner } from '../../src/scanner/clamd.js'
import { parseClamdUrl } from '../../src/scanner/clamd-address.js'
import { readAnswer, readVersion } from '../../src/scanner/clamd-answer.js'
import { findLocalClamd, openScanner } from '../../src/scanner/index.js'
import { eicar, inMemory } from '../support/eicar.js'
import { type Script, type ScriptedClamd, startScriptedClamd } from '../support/scripted-clamd.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const text = inMemory('Nothing to be seen here.\n')
const unavailable = { code: 'scanner_unavailable' }

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

async function daemonThat(script: Script, listen: 'tcp' | 'unix' = 'tcp'): Promise<ScriptedClamd> {
  const daemon = await startScriptedClamd(script, listen)
  opened.push(daemon)
  return daemon
}

function scannerOf(daemons: ScriptedClamd[], options: ClamdOptions = {}): ClamdScanner {
  const scanner = new ClamdScanner(
    daemons.map(({ url }) => parseClamdUrl(url)),
    { proveReach: false, ...options },
  )
  opened.push(scanner)
  return scanner
}

/** So many bytes that never stand in memory together. */
function endless(size: number, onPiece = () => {}): Content {
  const piece = Buffer.alloc(64 * 1024, 'endless ')
  const stream = (range = { start: 0, end: size - 1 }) =>
    Readable.from(
      (function* () {
        for (let at = range.start; at <= range.end; at += piece.length) {
          if (range.end === size - 1) onPiece()
          yield piece.subarray(0, Math.min(piece.length, range.end + 1 - at))
        }
      })(),
    )
  return { size, sha256: '', path: '/nowhere', stream }
}

describe('the answers of a clamd', () => {
  test.each([
    ['stream: OK', { kind: 'clean' }],
    ['stream: Win.Test.EICAR_HDB-1 FOUND', { kind: 'infected', signature: 'Win.Test.EICAR_HDB-1' }],
    ['stream: Heuristics.Encrypted.Zip FOUND', { kind: 'incomplete' }],
    ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND', { kind: 'incomplete' }],
    ['stream: Heuristics.OLE2.ContainsMacros FOUND', { kind: 'infected' }],
    ['INSTREAM size limit exceeded. ERROR', { kind: 'incomplete' }],
    ['stream: Can not allocate memory ERROR', { kind: 'error' }],
    ['stream:  FOUND', { kind: 'error' }],
    ['stream: OK stream: OK', { kind: 'error' }],
    ['UNKNOWN COMMAND', { kind: 'error' }],
    ['HTTP/1.1 400 Bad Request', { kind: 'error' }],
    ['', { kind: 'error' }],
  ])("'%s'", (line, meaning) => {
    expect(readAnswer(line)).toMatchObject(meaning)
  })

  test('a version with its database, and without', () => {
    expect(readVersion('ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026')).toEqual({
      name: 'ClamAV',
      version: '1.4.6',
      signaturesVersion: '27900',
      signaturesDate: new Date('2026-11-20T09:12:13Z'),
    })
    expect(readVersion('ClamAV 1.4.6')).toEqual({
      name: 'ClamAV',
      version: '1.4.6',
      signaturesVersion: 'unversioned',
      signaturesDate: null,
    })
    expect(readVersion('ClamAV 1.4.6/27900/some day')).toMatchObject({ signaturesVersion: '27900', signaturesDate: null })
    expect(readVersion('220 ready')).toBeUndefined()
  })
})

describe('the addresses of a clamd', () => {
  test.each([
    ['clamd://av.example:3311', { host: 'av.example', port: 3311 }],
    ['clamd://av.example', { host: 'av.example', port: 3310 }],
    ['clamd://[::1]:3310', { host: '::1', port: 3310 }],
    ['clamd:///run/clamav/clamd.ctl', { path: '/run/clamav/clamd.ctl' }],
    ['clamd:///a%20b/clamd.ctl', { path: '/a b/clamd.ctl' }],
  ])('%s', (url, connect) => {
    expect(parseClamdUrl(url)).toEqual({ label: url, connect })
  })

  test.each([
    'clamd:',
    'clamd://',
    'clamd://host/path',
    'clamd://host:99999',
    'tcp://host:3310',
    'clamd://host?x=1',
    'clamav',
    '',
    'clamd://a,yara:',
  ])("'%s' is refused with a sentence", async (url) => {
    await expect(openScanner(url)).rejects.toThrow(/it should be/)
  })
})

describe('odd answers', () => {
  test.each<[string, Script]>([
    ['an ERROR', { answer: 'stream: Can not allocate memory ERROR\0' }],
    ['an empty reply', { answer: '' }],
    ['an empty line', { answer: '\0' }],
    ['half a line', { answer: 'stream: O' }],
    ['a whole line without its end', { answer: 'stream: OK' }],
    ['garbage', { answer: '\x01\x02\xff{"ok":true}\0' }],
    ['garbage without an end', { answer: 'x'.repeat(100_000) }],
    ['a signature without a name', { answer: 'stream:  FOUND\0' }],
    ['another protocol', { answer: 'HTTP/1.1 400 Bad Request\r\n\r\n\0' }],
  ])('%s is neither clean nor a virus', async (_, script) => {
    const scanner = scannerOf([await daemonThat(script)])
    await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
  })

  test.each(['Heuristics.Encrypted.PDF', 'Heuristics.Limits.Exceeded.MaxScanSize'])(
    'a finding of %s is incomplete',
    async (signature) => {
      const scanner = scannerOf([await daemonThat({ answer: `stream: ${signature} FOUND\0` })])
      expect(await scanner.scan(text, never())).toMatchObject({ verdict: 'incomplete' })
    },
  )

  test('a size limit told while the file is still being sent is incomplete', async () => {
    const daemon = await daemonThat({ limit: mebibyte })
    let pieces = 0
    const scanner = scannerOf([daemon])
    const verdict = await scanner.scan(
      endless(50 * mebibyte, () => pieces++),
      never(),
    )
    expect(verdict).toEqual({ verdict: 'incomplete', reason: expect.stringContaining('StreamMaxLength') })
    expect(pieces).toBeLessThan(400)
  })

  test('killed in the middle of a scan', async () => {
    const daemon = await daemonThat({ dieAfter: mebibyte })
    await expect(scannerOf([daemon]).scan(endless(50 * mebibyte), never())).rejects.toMatchObject(unavailable)
    expect(daemon.streams).toBe(2)
  })

  test('a mute one is given up after its deadline, and not asked again', async () => {
    const daemon = await daemonThat({ mute: true })
    const scanner = scannerOf([daemon], { deadlines: { answerMs: 60 } })
    await expect(scanner.scan(text, never())).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('60 ms') })
    expect(daemon.streams).toBe(1)
  })

  test('one that stops taking the file is given up after its deadline', async () => {
    const daemon = await daemonThat({ pauseMs: 60_000 })
    const scanner = scannerOf([daemon], { deadlines: { idleMs: 60 } })
    await expect(scanner.scan(endless(50 * mebibyte), never())).rejects.toMatchObject(unavailable)
  })

  test('one that drips is given up after the deadline for all of it', async () => {
    const daemon = await daemonThat({ pauseMs: 20 })
    const scanner = scannerOf([daemon], { deadlines: { overallMs: 150 } })
    await expect(scanner.scan(endless(500 * mebibyte), never())).rejects.toMatchObject({
      message: expect.stringContaining('150 ms'),
    })
  })

  test('content that cannot be read again is no fault of the daemon, and no verdict', async () => {
    const gone: Content = {
      ...endless(mebibyte),
      stream: () =>
        new Readable({
          read() {
            this.destroy(new Error('ENOENT: it was here a moment ago'))
          },
        }),
    }
    await expect(scannerOf([await daemonThat({})]).scan(gone, never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('could not be read'),
    })
  })

  test('a scan that is aborted while the daemon thinks ends at once, its connection too', async () => {
    const daemon = await daemonThat({ mute: true })
    const scanner = scannerOf([daemon])
    const controller = new AbortController()
    const scanned = scanner.scan(text, { signal: controller.signal })
    await until(() => daemon.streams === 1)
    controller.abort(new Error('gone'))
    await expect(scanned).rejects.toThrow('gone')
    await until(() => daemon.open === 0)
  })
})

describe('several daemons', () => {
  test('a dead one is passed over', async () => {
    const dead = await startScriptedClamd()
    await dead.close()
    const alive = await daemonThat({})
    const scanner = scannerOf([dead, alive])
    for (let count = 0; count < 5; count++)
      expect(await scanner.scan(inMemory(eicar), never())).toMatchObject({ verdict: 'infected' })
    expect(alive.streams).toBe(5)
  })

  test('one that dies in the middle leaves the file to the other, from its first byte', async () => {
    const dying = await daemonThat({ dieAfter: 1_000 })
    const alive = await daemonThat({})
    const scanner = scannerOf([dying, alive])
    const file = inMemory(Buffer.concat([eicar, Buffer.alloc(200_000)]))
    for (let count = 0; count < 4; count++) expect(await scanner.scan(file, never())).toMatchObject({ verdict: 'infected' })
    expect(dying.streams).toBeGreaterThan(0)
    // Having failed, it rests: it is not asked for every file.
    expect(dying.streams).toBeLessThan(4)
  })

  test('none left: unavailable, with the reason of the last', async () => {
    const daemons = [await daemonThat({ answer: '' }), await daemonThat({ answer: 'stream: Broken ERROR\0' })]
    await expect(scannerOf(daemons).scan(text, never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/Broken ERROR|without an answer/),
    })
    expect(daemons.map(({ streams }) => streams)).toEqual([1, 1])
  })

  test('share the load, and none gets more connections than it may', async () => {
    const daemons = [await daemonThat({ pauseMs: 5 }), await daemonThat({ pauseMs: 5 }, 'unix')]
    const scanner = scannerOf(daemons, { connections: 3 })
    await Promise.all(Array.from({ length: 40 }, () => scanner.scan(text, never())))
    const [first = 0, second = 0] = daemons.map(({ streams }) => streams)
    expect(first + second).toBe(40)
    expect(Math.min(first, second)).toBeGreaterThanOrEqual(10)
    for (const { mostOpen } of daemons) expect(mostOpen).toBeLessThanOrEqual(4)
  })

  test('who finds no connection free waits, and is told when it takes too long', async () => {
    const daemon = await daemonThat({ mute: true })
    const scanner = scannerOf([daemon], { connections: 1, waiting: { most: 1, ms: 50 } })
    const first = scanner.scan(text, never())
    const waiting = scanner.scan(text, never())
    await expect(scanner.scan(text, never())).rejects.toMatchObject({ code: 'overloaded' })
    await expect(waiting).rejects.toMatchObject({ code: 'overloaded' })
    await scanner.close()
    await expect(first).rejects.toMatchObject(unavailable)
  })

  test('speak with the voice of the one whose signatures are oldest', async () => {
    const daemons = [await daemonThat({}), await daemonThat({ version: 'ClamAV 1.0.1/26000/Mon Jan 1 09:12:13 2024' })]
    expect(await scannerOf(daemons).identity()).toMatchObject({ version: '1.0.1', signaturesVersion: '26000' })
  })
})

describe('proof and identity', () => {
  test('a daemon that calls the EICAR string clean is not ready', async () => {
    const scanner = scannerOf([await daemonThat({ answer: 'stream: OK\0' })])
    await expect(scanner.prove()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('EICAR') })
  })

  test('nobody there: unavailable, each with its reason', async () => {
    const dead = await startScriptedClamd()
    await dead.close()
    const scanner = scannerOf([dead])
    await expect(scanner.prove()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('ECONNREFUSED') })
    await expect(scanner.identity()).rejects.toMatchObject(unavailable)
  })

  test('an identity that could not be had is asked for again', async () => {
    const daemon = await daemonThat({ version: 'no clamd at all' })
    const scanner = scannerOf([daemon])
    await expect(scanner.identity()).rejects.toMatchObject(unavailable)
    daemon.script.version = 'ClamAV 1.4.6'
    expect(await scanner.identity()).toMatchObject({ version: '1.4.6' })
  })

  test('a clamd on this machine is found where it answers PING, and nowhere else', async () => {
    const daemon = await daemonThat({}, 'unix')
    const dead = await startScriptedClamd()
    await dead.close()
    expect(await findLocalClamd(['clamd:///nowhere/clamd.ctl', dead.url, daemon.url])).toBe(daemon.url)
    expect(await findLocalClamd(['clamd:///nowhere/clamd.ctl', dead.url])).toBeUndefined()
  })

  test('none: has no verdicts, and says what to do', async () => {
    const scanner = await openScanner('none:')
    await expect(scanner.scan(text, never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('SCANNER_URL'),
    })
    await expect(scanner.prove()).rejects.toMatchObject(unavailable)
    expect(await scanner.identity()).toMatchObject({ name: 'none' })
  })
})

test('a slow daemon holds the file back: what it has not taken does not stand in memory', async () => {
  const daemon = await daemonThat({ pauseMs: 1 })
  let sent = 0
  let mostAhead = 0
  const file = endless(64 * mebibyte, () => {
    sent += 64 * 1024
    mostAhead = Math.max(mostAhead, sent - daemon.taken)
  })
  expect(await scannerOf([daemon]).scan(file, never())).toMatchObject({ verdict: 'clean' })
  expect(daemon.taken).toBe(64 * mebibyte)
  // Socket buffers of both sides included.
  expect(mostAhead).toBeLessThan(12 * mebibyte)
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
