import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { brotliRows, carriers, type HiddenMarker, largeRows, marker, smallRows } from '../support/hidden-marker.js'
import { describeWith } from '../support/installed-programs.js'
import { startRealClamd } from '../support/real-clamd.js'
import { createSubmission } from '../support/validation.js'

interface OpenedScanner {
  scanner: Awaited<ReturnType<typeof openScanner>>
  close(): Promise<void>
}

/** Every file contains the marker, so the scanner must find it or report an incomplete scan. */
function findsEveryMarker(open: () => Promise<OpenedScanner>): void {
  let opened: OpenedScanner
  let inspector: ReturnType<typeof createInspector>
  beforeAll(async () => {
    opened = await open()
    inspector = createInspector({ scanner: opened.scanner, workers: 1 })
  })
  afterAll(async () => {
    await inspector.close()
    await opened.scanner.close()
    await opened.close()
  })

  const rules = { scanForViruses: true, rejectCorruptFiles: false, maxFileSizeMb: 100 }
  const accepted = async (rows: HiddenMarker[]) => {
    const names: string[] = []
    for (const { name, extension, make } of rows) {
      const bytes = await make()
      if (bytes.includes(marker)) throw new Error(`The marker is visible in ${name}.`)
      const report = await inspector.inspect(createSubmission(`a.${extension}`, bytes, rules))
      if (report.outcome === 'accepted') names.push(name)
    }
    return names
  }

  test.each(Object.keys(carriers))(
    'never accepts a container with a malware marker if the container is inside %s',
    async (carrier) => {
      expect(await accepted(smallRows(carrier))).toEqual([])
    },
  )

  test.each(largeRows)('does not accept a container with a malware marker in $name', async (row) => {
    expect(await accepted([row])).toEqual([])
  })

  test('never reports a Brotli file as fully scanned', async () => {
    expect(await accepted(brotliRows)).toEqual([])
  })
}

describe('built-in scanner', () =>
  findsEveryMarker(async () => {
    const rulesDir = await mkdtemp(join(tmpdir(), 'assay-rules-'))
    await writeFile(join(rulesDir, 'marker.yar'), `rule marker { strings: $a = "${marker}" condition: $a }`)
    return { scanner: await openScanner('yara:', { rulesDir, workers: 1 }), close: () => rm(rulesDir, { recursive: true }) }
  }))

const settings = {
  // Limits are an eighth of Debian's defaults so that test files can be small.
  'with low limits': ['StreamMaxLength 3M', 'MaxFileSize 3M', 'MaxScanSize 12M'],
  'as docs/operations.md recommends': [
    'StreamMaxLength 1024M',
    'MaxFileSize 1024M',
    'MaxScanSize 2000M',
    'AlertEncrypted yes',
    'AlertExceedsMax yes',
  ],
}

describeWith('clamd')('clamd', () => {
  for (const [name, lines] of Object.entries(settings))
    describe(name, () =>
      findsEveryMarker(async () => {
        const daemon = await startRealClamd(lines)
        await daemon.addSignature('Test.Marker', marker.toString())
        return { scanner: await openScanner(daemon.unixUrl), close: () => daemon.close() }
      }),
    )
})
