import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { clean, createFileContent, createMemoryContent, createZip, eicar } from '../support/eicar.js'

export interface OpenedScanner {
  scanner: VirusScanner
  /** Stops the backend after the scanner is closed. */
  release(): Promise<void>
  /** Number of concurrent scans, lower for scanners that start a program per scan. */
  atOnce?: number
}

const text = Buffer.from('A sound and boring text.\n')
const never = () => ({ signal: new AbortController().signal })

/** Contract tests that every virus scanner adapter must pass. */
export function virusScannerContract(name: string, open: () => Promise<OpenedScanner>): void {
  describe(`virus scanner contract: ${name}`, () => {
    let opened: OpenedScanner
    let before: string[]

    beforeAll(async () => {
      before = handles()
      opened = await open()
    }, 60_000)

    afterAll(async () => {
      await opened?.scanner.close()
      await opened?.release()
    })

    const scan = (bytes: Buffer) => opened.scanner.scan(createMemoryContent(bytes), never())

    test('reports a valid file as clean', async () => {
      expect(await scan(text)).toEqual(clean)
    })

    test('reports an empty file as clean', async () => {
      expect(await scan(Buffer.alloc(0))).toEqual(clean)
    })

    test('detects the EICAR string and reports its signature name', async () => {
      expect(await scan(eicar)).toMatchObject({ verdict: 'infected', signature: expect.stringMatching(/eicar/i) })
    })

    test('finds the EICAR string in a zip and in a nested zip', async () => {
      const inner = createZip({ name: 'readme.txt', bytes: text }, { name: 'eicar.com', bytes: eicar, stored: true })
      expect(await scan(inner)).toMatchObject({ verdict: 'infected' })
      expect(await scan(createZip({ name: 'inner.zip', bytes: inner, stored: true }))).toMatchObject({ verdict: 'infected' })
    })

    test('reports a zip as incompletely scanned if it has an encrypted member', async () => {
      const zip = createZip({ name: 'open.txt', bytes: text }, { name: 'secret.txt', bytes: text, encrypted: true })
      expect(await scan(zip)).toMatchObject({ verdict: 'incomplete', reason: expect.stringContaining('encrypted') })
    })

    test('scans files on disk and content in memory', async () => {
      const infected = await createFileContent(Buffer.concat([eicar, Buffer.alloc(700_000, ' ')]))
      const harmless = await createFileContent(Buffer.alloc(700_000, 'x'))
      try {
        expect(await opened.scanner.scan(infected, never())).toMatchObject({ verdict: 'infected' })
        expect(await opened.scanner.scan(harmless, never())).toMatchObject({ verdict: 'clean' })
      } finally {
        await infected.remove()
        await harmless.remove()
      }
    })

    test('returns the correct result for each of many concurrent scans', async () => {
      const files = Array.from({ length: opened.atOnce ?? 60 }, (_, index) =>
        index % 3 === 0 ? eicar : Buffer.alloc(index * 5_000, `clean ${index} `),
      )
      const verdicts = await Promise.all(files.map(scan))
      expect(verdicts.map(({ verdict }) => verdict === 'infected')).toEqual(files.map((file) => file === eicar))
    })

    test('rejects an aborted scan with the abort reason', async () => {
      const reason = new Error('the client hung up')
      await expect(opened.scanner.scan(createMemoryContent(text), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
      const controller = new AbortController()
      const scanned = opened.scanner.scan(createMemoryContent(Buffer.alloc(900_000, 'x')), { signal: controller.signal })
      controller.abort(reason)
      await expect(scanned).rejects.toBe(reason)
      expect(await scan(text)).toEqual(clean)
    })

    test('reports the name and version of the scan engine', async () => {
      const identity = await opened.scanner.getIdentity()
      expect(identity.name).toMatch(/^(ClamAV|YARA-X)/)
      expect(identity.version).toMatch(/^\d+\.\d+/)
      expect(identity.signaturesVersion).not.toBe('')
    })

    test("detects the EICAR string in the scanner's self-test", async () => {
      await expect(opened.scanner.verifyDetection()).resolves.toBeUndefined()
    })

    // This test must be last because it closes the scanner.
    test('rejects scans after the scanner is closed, and leaves no open handles', async () => {
      await opened.scanner.close()
      await expect(opened.scanner.scan(createMemoryContent(Buffer.alloc(900_000)), never())).rejects.toMatchObject({
        code: 'scanner_unavailable',
      })
      await opened.release()
      // Polls because destroyed handles close after a short delay.
      for (let waited = 0; listNewHandles(before).length > 0 && waited < 1000; waited++) await sleep(10)
      expect(listNewHandles(before)).toEqual([])
    })
  })
}

/** Returns open connections and other handles that keep the process alive. */
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter((kind) => /Worker|MessagePort|TCPSocketWrap|PipeWrap|TCPServerWrap|PipeServerWrap/.test(kind))
    .sort()

/** Returns handles opened since `before`. Handles of earlier test files may have closed in the meantime. */
function listNewHandles(before: string[]): string[] {
  const known = [...before]
  return handles().filter((kind) => {
    const at = known.indexOf(kind)
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
}
