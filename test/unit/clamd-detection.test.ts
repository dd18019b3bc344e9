import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { closeAll, createScanner, startDaemon } from '../support/clamd-scanner.js'
import { clean, createMemoryContent, eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { startRealClamd } from '../support/real-clamd.js'
import type { ClamdEmulator } from '../support/scripted-clamd.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

const never = () => ({ signal: new AbortController().signal })
const text = createMemoryContent('Nothing to be seen here.\n')
const unavailable = { code: 'scanner_unavailable' }
const blind = 'stream: OK\0'

afterEach(async () => {
  jest.restoreAllMocks()
  await closeAll()
})

function advanceMinute(): void {
  const then = Date.now() + 60_001
  jest.spyOn(Date, 'now').mockImplementation(() => then)
}

describe('clamd detection test', () => {
  let daemon: ClamdEmulator
  beforeEach(async () => {
    daemon = await startDaemon({})
  })

  test('runs the clamd detection test only once for all scans within a minute', async () => {
    const scanner = createScanner([daemon])
    const before = new Date()
    const [first, second] = [await scanner.scan(text, never()), await scanner.scan(text, never())]
    expect(first).toEqual(clean)
    expect(second.provedAt).toEqual(first.provedAt)
    expect(first.provedAt!.getTime()).toBeGreaterThanOrEqual(before.getTime())
    expect(daemon.proofs).toBe(1)
  })

  test('returns no scan result unless clamd detects the EICAR string', async () => {
    daemon.script.proof = blind
    await expect(createScanner([daemon]).scan(text, never())).rejects.toMatchObject({
      ...unavailable,
      cause: expect.objectContaining({ message: expect.stringContaining('EICAR') }),
    })
    expect(daemon.streams).toBe(0)
  })

  test("reports no file as clean if clamd's VERSION response contains signature version 0", async () => {
    const scanner = createScanner([daemon])
    expect(await scanner.scan(text, never())).toEqual(clean)
    daemon.script.version = 'ClamAV 1.4.6/0/Thu Nov 20 10:00:00 2026'
    daemon.script.proof = blind
    await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
  })

  test('repeats the scan if clamd passes the detection test only after reloading its signatures', async () => {
    const scanner = createScanner([daemon])
    await scanner.scan(text, never())
    daemon.script.version = 'ClamAV 1.4.6/27901/Fri Nov 21 09:12:13 2026'
    expect(await scanner.scan(text, never())).toEqual(clean)
    expect([daemon.proofs, daemon.streams]).toEqual([2, 3])
  })

  test('detects within a minute that clamd has lost its signatures', async () => {
    const scanner = createScanner([daemon])
    await scanner.scan(text, never())
    daemon.script.proof = blind
    advanceMinute()
    await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
  })

  test('repeats the detection test after a connection failure', async () => {
    const scanner = createScanner([daemon])
    await scanner.scan(text, never())
    daemon.script.response = ''
    await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
    daemon.script.response = undefined as never
    daemon.script.proof = blind
    await expect(scanner.scan(text, never())).rejects.toMatchObject({
      cause: expect.objectContaining({ message: expect.stringContaining('EICAR') }),
    })
  })

  test('scans with another clamd daemon if the first daemon does not detect the EICAR string', async () => {
    const blindOne = await startDaemon({ proof: blind })
    const scanner = createScanner([blindOne, daemon])
    for (let count = 0; count < 3; count++) expect(await scanner.scan(text, never())).toEqual(clean)
    expect([blindOne.streams, daemon.streams]).toEqual([0, 3])
  })

  test('shares one detection test among concurrent scans', async () => {
    const scanner = createScanner([daemon])
    await Promise.all(Array.from({ length: 6 }, () => scanner.scan(text, never())))
    expect(daemon.proofs).toBe(1)
  })
})

test.each([
  ['stream: OK\0more', 'more bytes'],
  ['stream: OK\0stream: Eicar FOUND\0', 'a second answer'],
  [' stream: OK\0', 'a blank before it'],
  ['stream: OK \0', 'a blank behind it'],
  ['stream: OK\n\0', 'a line break behind it'],
  ['stream: ok\0', 'other letters'],
])("treats clamd as unavailable if it returns the invalid response '%s'", async (response) => {
  const scanner = createScanner([await startDaemon({ response: response })])
  await expect(scanner.scan(text, never())).rejects.toMatchObject(unavailable)
})

test('reports a finding without a signature name as an incomplete scan instead of a virus', async () => {
  const scanner = createScanner([await startDaemon({ response: 'stream: (null) FOUND\0' })])
  expect(await scanner.scan(text, never())).toMatchObject({ verdict: 'incomplete', reason: expect.stringContaining('(null)') })
})

test('reports when the scanner last detected the EICAR string', async () => {
  const inspector = createInspector({ scanner: new ScriptedScanner({ verdict: 'clean' }), workers: 1 })
  try {
    const { checks } = await inspector.inspect(createSubmission('a.txt', Buffer.from('text'), { scanForViruses: true }))
    expect(checks.at(-1)).toMatchObject({ outcome: 'passed', evidence: { scanner_proved_at: '2026-11-21T12:00:00.000Z' } })
  } finally {
    await inspector.close()
  }
})

describeWith('clamd')('real clamd whose signatures are removed at run time', () => {
  test('stops reporting files as clean within a minute after the signatures are removed', async () => {
    const daemon = await startRealClamd()
    const scanner = await openScanner(daemon.unixUrl)
    try {
      expect(await scanner.scan(text, never())).toEqual(clean)
      await daemon.forgetEicar()
      advanceMinute()
      for (const file of [text, createMemoryContent(Buffer.concat([eicar, Buffer.from('!')]))])
        await expect(scanner.scan(file, never())).rejects.toMatchObject(unavailable)
    } finally {
      await scanner.close()
      await daemon.close()
    }
  })
})
