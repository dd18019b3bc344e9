import { afterEach, describe, expect, test } from '@jest/globals'
import { parseClamdUrl } from '../../src/inspection/scanners/clamd/exchange.js'
import { findLocalClamd, openScanner } from '../../src/inspection/scanners/index.js'
import { closeAll, createScanner, startDaemon } from '../support/clamd-scanner.js'
import { createMemoryContent, eicar } from '../support/eicar.js'
import { startClamdEmulator } from '../support/scripted-clamd.js'

const never = () => ({ signal: new AbortController().signal })
const text = createMemoryContent('Nothing to be seen here.\n')
const unavailable = { code: 'scanner_unavailable' }

afterEach(closeAll)

describe('clamd addresses', () => {
  test.each([
    ['clamd://av.example:3311', { host: 'av.example', port: 3311 }],
    ['clamd://av.example', { host: 'av.example', port: 3310 }],
    ['clamd://[::1]:3310', { host: '::1', port: 3310 }],
    ['clamd:///run/clamav/clamd.ctl', { path: '/run/clamav/clamd.ctl' }],
    ['clamd:///a%20b/clamd.ctl', { path: '/a b/clamd.ctl' }],
  ])('parses the clamd address %s', (url, connect) => {
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
  ])("rejects the clamd address '%s' with a one-sentence error", async (url) => {
    await expect(openScanner(url)).rejects.toThrow(/It must be/)
  })
})

describe('several clamd daemons', () => {
  test('skips an unavailable clamd daemon', async () => {
    const dead = await startClamdEmulator()
    await dead.close()
    const alive = await startDaemon({})
    const scanner = createScanner([dead, alive])
    for (let count = 0; count < 5; count++)
      expect(await scanner.scan(createMemoryContent(`${eicar}\n`), never())).toMatchObject({ verdict: 'infected' })
    expect(alive.streams).toBe(5)
  })

  test('scans the complete file with another clamd daemon if the first disconnects', async () => {
    const dying = await startDaemon({ dieAfter: 1_000 })
    const alive = await startDaemon({})
    const scanner = createScanner([dying, alive])
    const file = createMemoryContent(Buffer.concat([eicar, Buffer.alloc(200_000)]))
    for (let count = 0; count < 4; count++) expect(await scanner.scan(file, never())).toMatchObject({ verdict: 'infected' })
    expect(dying.streams).toBeGreaterThan(0)
    // A failed daemon is paused instead of tried for every file.
    expect(dying.streams).toBeLessThan(4)
  })

  test('reports the reason for the last failure if all clamd daemons are unavailable', async () => {
    const daemons = [await startDaemon({ response: '' }), await startDaemon({ response: 'stream: Broken ERROR\0' })]
    await expect(createScanner(daemons).scan(text, never())).rejects.toMatchObject({
      ...unavailable,
      cause: expect.objectContaining({ message: expect.stringMatching(/Broken ERROR|without a response/) }),
    })
    expect(daemons.map(({ streams }) => streams)).toEqual([1, 1])
  })

  test('distributes scans among clamd daemons within their connection limits', async () => {
    const daemons = [await startDaemon({ pauseMs: 5 }), await startDaemon({ pauseMs: 5 }, 'unix')]
    const scanner = createScanner(daemons, { connections: 3 })
    await Promise.all(Array.from({ length: 40 }, () => scanner.scan(text, never())))
    const [first = 0, second = 0] = daemons.map(({ streams }) => streams)
    expect(first + second).toBe(40)
    expect(Math.min(first, second)).toBeGreaterThanOrEqual(10)
    for (const { maxOpen } of daemons) expect(maxOpen).toBeLessThanOrEqual(4)
  })

  test('waits for a free clamd connection until a timeout', async () => {
    const daemon = await startDaemon({ mute: true })
    const scanner = createScanner([daemon], { connections: 1, waiting: { maxRequests: 1, ms: 50 } })
    const first = scanner.scan(text, never())
    const waiting = scanner.scan(text, never())
    await expect(scanner.scan(text, never())).rejects.toMatchObject({ code: 'overloaded' })
    await expect(waiting).rejects.toMatchObject({ code: 'overloaded' })
    await scanner.close()
    await expect(first).rejects.toMatchObject(unavailable)
  })

  test('reports the oldest signatures among all clamd daemons', async () => {
    const daemons = [await startDaemon({}), await startDaemon({ version: 'ClamAV 1.0.1/26000/Mon Jan 1 09:12:13 2024' })]
    expect(await createScanner(daemons).getIdentity()).toMatchObject({ version: '1.0.1', signaturesVersion: '26000' })
  })
})

describe('readiness and identity of clamd', () => {
  test('reports a clamd daemon as not ready if it treats the EICAR string as clean', async () => {
    const scanner = createScanner([await startDaemon({ proof: 'stream: OK\0' })])
    await expect(scanner.verifyDetection()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('EICAR') })
  })

  test('reports the reason for each failure if no clamd daemon responds', async () => {
    const dead = await startClamdEmulator()
    await dead.close()
    const scanner = createScanner([dead])
    await expect(scanner.verifyDetection()).rejects.toMatchObject({
      ...unavailable,
      message: 'No clamd server is responding.',
      cause: expect.objectContaining({ message: expect.stringContaining('ECONNREFUSED') }),
    })
    await expect(scanner.getIdentity()).rejects.toMatchObject(unavailable)
  })

  test('queries the identity of a clamd daemon again after a failure', async () => {
    const daemon = await startDaemon({ version: 'no clamd at all' })
    const scanner = createScanner([daemon])
    await expect(scanner.getIdentity()).rejects.toMatchObject(unavailable)
    daemon.script.version = 'ClamAV 1.4.6'
    expect(await scanner.getIdentity()).toMatchObject({ version: '1.4.6' })
  })

  test('detects a local clamd daemon only if it responds to PING', async () => {
    const daemon = await startDaemon({}, 'unix')
    const dead = await startClamdEmulator()
    await dead.close()
    expect(await findLocalClamd(['clamd:///nowhere/clamd.ctl', dead.url, daemon.url])).toBe(daemon.url)
    expect(await findLocalClamd(['clamd:///nowhere/clamd.ctl', dead.url])).toBeUndefined()
  })

  test('the "none" scanner returns an error that says how to configure a scanner', async () => {
    const scanner = await openScanner('none:')
    await expect(scanner.scan(text, never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('SCANNER_URL'),
    })
    await expect(scanner.verifyDetection()).rejects.toMatchObject(unavailable)
    expect(await scanner.getIdentity()).toMatchObject({ name: 'none' })
  })
})
