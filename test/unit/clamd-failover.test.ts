import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openScanner } from '../../src/inspection/scanners/index.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import type { Content } from '../../src/platform/spool/content.js'
import { clean, createMemoryContent, eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'

const never = () => ({ signal: new AbortController().signal })
const filler = Buffer.alloc(3 * 1024 * 1024, 'text ')

/** Creates content that awaits `interrupt` at a given position in its first read. */
function createInterruptedContent(interrupt: () => Promise<void>, place: 'in the middle' | 'at the end', head: Buffer) {
  let reads = 0
  const content: Content = {
    size: head.length + filler.length,
    sha256: '',
    path: '/nowhere',
    stream: (range) => {
      const complete = Buffer.concat([head, filler])
      if (range) return Readable.from([complete.subarray(range.start, range.end + 1)])
      const first = ++reads === 1
      return Readable.from(
        (async function* () {
          yield head
          yield filler.subarray(0, filler.length / 2)
          if (first && place === 'in the middle') await interrupt()
          yield filler.subarray(filler.length / 2)
          if (first && place === 'at the end') await interrupt()
        })(),
      )
    },
  }
  return { content, reads: () => reads }
}

describeWith('clamd')('failover between two real clamd daemons', () => {
  let daemons: RealClamd[]
  let scanner: VirusScanner
  beforeEach(async () => {
    daemons = await Promise.all([startRealClamd(), startRealClamd()])
    scanner = await openScanner(daemons.map(({ tcpUrl }) => tcpUrl).join(','))
  })
  afterEach(async () => {
    await scanner.close()
    for (const daemon of daemons) await daemon.close()
  })

  test.each([
    ['in the middle', 'clean', Buffer.from('text')],
    ['in the middle', 'infected', eicar],
    ['at the end', 'clean', Buffer.from('text')],
    ['at the end', 'infected', eicar],
  ] as const)(
    'scans the complete file with another clamd daemon if the first is killed %s of a scan (%s file)',
    async (place, verdict, head) => {
      const [first] = daemons as [RealClamd]
      // Equally busy daemons alternate, starting with the first one.
      const { content, reads } = createInterruptedContent(() => first.kill('SIGKILL'), place, head)
      expect(await scanner.scan(content, never())).toMatchObject({ verdict })
      expect(reads()).toBe(2)
      for (let count = 0; count < 4; count++) {
        expect(await scanner.scan(createMemoryContent(eicar), never())).toMatchObject({ verdict: 'infected' })
        expect(await scanner.scan(createMemoryContent('text'), never())).toEqual(clean)
      }
      await expect(scanner.verifyDetection()).resolves.toBeUndefined()
    },
  )

  test('scans the file with another clamd daemon if the first is killed while processing it', async () => {
    const [first] = daemons as [RealClamd]
    const { content, reads } = createInterruptedContent(
      async () => {
        first.freeze()
        // The delay lets the client send its last bytes.
        setTimeout(() => void first.kill('SIGKILL'), 300)
      },
      'at the end',
      eicar,
    )
    expect(await scanner.scan(content, never())).toMatchObject({ verdict: 'infected' })
    expect(reads()).toBe(2)
  })

  test('reports the scanner as unavailable if both clamd daemons are killed', async () => {
    const [first, second] = daemons as [RealClamd, RealClamd]
    await Promise.all([first.kill('SIGKILL'), second.kill('SIGKILL')])
    await expect(scanner.scan(createMemoryContent('text'), never())).rejects.toMatchObject({ code: 'scanner_unavailable' })
    await expect(scanner.verifyDetection()).rejects.toMatchObject({ code: 'scanner_unavailable' })
    await second.restart()
    expect(await scanner.scan(createMemoryContent(eicar), never())).toMatchObject({ verdict: 'infected' })
    await first.restart()
    await second.kill('SIGKILL')
    expect(await scanner.scan(createMemoryContent(eicar), never())).toMatchObject({ verdict: 'infected' })
  })
})
