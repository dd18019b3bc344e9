import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Container, detectContainer, detectContainerAtEnd } from '../../packages/formats/src/archive/containers.js'
import { containerKinds } from '../../packages/formats/src/walk/openers.js'
import { createTar, noise, sevenZip } from '../../packages/formats/test/support/samples/archive.js'
import * as made from '../../packages/formats/test/support/samples/containers.js'
import { compound, doc, docx, packed as packedDocument } from '../../packages/formats/test/support/samples/office.js'
import { pdfWithAttachment } from '../../packages/formats/test/support/samples/pdf.js'
import { chm, udf } from '../../packages/formats/test/support/samples/udf-and-chm.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { openedByClamav } from '../../src/inspection/scanners/scan-coverage.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { createMemoryContent, createZip, eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { startRealClamd } from '../support/real-clamd.js'
import { createSubmission } from '../support/validation.js'

// Repeating the content makes the packer split the EICAR string, so packed bytes do not contain it.
const thrice = Buffer.concat(
  Array.from({ length: 3 }, () => Buffer.concat([eicar.subarray(43), Buffer.from(' '), eicar, Buffer.from(' ')])),
)
/** The ClamAV signature requires the EICAR string at the start of a file. */
const fromItsStart = Buffer.concat([eicar, Buffer.from(' '), thrice])
/** Compressed member for archives that store members uncompressed. */
const packed = (inside: Buffer) => ({ name: 'A.GZ', bytes: gzipSync(inside) })

const ofLzma =
  '5d00008000ffffffffffffffff00209386cdfd5eeb2375234bb92907823970483febff5381cd3cd061ee0d336599308acfb972cf65fc9078f397b02d2357f2871f02999a10852dcfcf1ef433a0d5076b056c260771107709fc7973ffff38708000'
const ofZstd =
  '28b52ffd641d008d02005404414e544956495255532d544553542d46494c452124482b482a2058354f2150254041505b345c505a58353428505e2937434329377d2445494341522d5354414e444152442d02003b312828103b98016c862c68'
const ofLz4 =
  '04224d186440a754000000ff36414e544956495255532d544553542d46494c452124482b482a2058354f2150254041505b345c505a58353428505e2937434329377d2445494341522d5354414e444152442d4500070f5f00a650482b482a2000000000140489be'
const mail = (body: Buffer) =>
  Buffer.from(
    `Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream; name="a.bin"\r\nContent-Transfer-Encoding: base64\r\n\r\n${body.toString('base64')}\r\n`,
  )
const started = (...start: string[]) => Buffer.concat([Buffer.from(start.join(''), 'latin1'), noise(2000)])

/** One sample per container with the EICAR string if it can be generated, otherwise with the container signature only. */
const samples: Record<Container, (inside: Buffer) => Buffer | Promise<Buffer>> = {
  zip: (inside) => createZip({ name: 'a', bytes: inside }),
  gzip: (inside) => gzipSync(inside),
  tar: (inside) => createTar([{ name: 'a.gz', data: gzipSync(inside) }]),
  '7z': (inside) => sevenZip({ a: inside }),
  xz: (inside) => sevenZip({ a: inside }, [], 'xz'),
  bzip2: (inside) => sevenZip({ a: inside }, [], 'bzip2'),
  zstd: () => Buffer.from(ofZstd, 'hex'),
  lzma: () => Buffer.from(ofLzma, 'hex'),
  z: (inside) => made.compressed(inside),
  cab: (inside) => made.cab(packed(inside)),
  rar: (inside) => made.rar4(packed(inside)),
  rar5: (inside) => made.rar5(packed(inside)),
  arj: (inside) => made.arj(packed(inside)),
  lzh: (inside) => made.lzh(packed(inside)),
  cpio: (inside) => made.cpio(packed(inside)),
  ar: (inside) => made.ar(packed(inside)),
  rpm: (inside) => made.rpm(packed(inside)),
  xar: (inside) => made.xar({ name: 'a', bytes: inside }),
  wim: (inside) => sevenZip({ 'a.gz': gzipSync(inside) }, [], 'wim'),
  iso: (inside) => made.iso(packed(inside)),
  udf: () => udf(),
  swf: (inside) => made.swf(inside),
  szdd: (inside) => made.szdd(inside),
  ole: (inside) => compound({ ...doc(), Package: gzipSync(inside) }),
  chm: () => chm(),
  tnef: (inside) => made.tnef(packed(inside)),
  onenote: (inside) => made.oneNote(gzipSync(inside)),
  alz: (inside) => made.alz(packed(inside)),
  egg: (inside) => made.egg(packed(inside)),
  lz4: () => Buffer.from(ofLz4, 'hex'),
  lzip: () => started('LZIP\x01'),
  ace: () => started('1234567**ACE**'),
  zoo: () => started('ZOO 2.10 Archive.\x1a\0\0\xdc\xa7\xc4\xfd'),
  stuffit: () => started('SIT!'),
  installshield: () => started('ISc('),
  squashfs: () => started('hsqs'),
  disk: () => started('conectix'),
  rtf: (inside) =>
    Buffer.from(`{\\rtf1{\\object\\objemb{\\*\\objdata 0105{\\x}${inside.toString('hex').replace(/(.{64})/g, '$1\n')}}}}`),
  pdf: (inside) => pdfWithAttachment(gzipSync(inside)),
  mail: (inside) => mail(inside),
  dmg: (inside) => made.dmg(inside),
}

const only = Object.keys(samples) as Container[]
test.each(only)('detects a container of type %s by its first or last bytes', async (container) => {
  const bytes = await samples[container](thrice)
  expect(detectContainer(bytes) ?? detectContainerAtEnd(bytes)).toBe(container)
})

const found = { verdict: 'infected', signature: expect.stringContaining('EICAR') }
const incomplete = { verdict: 'incomplete', reason: expect.any(String) }
/** In these containers the EICAR string is not at the start of the content, so the test signature does not match. */
const elsewhere = new Set<Container>(['swf', 'rtf', 'zstd', 'lzma'])

describe('built-in scanner', () => {
  let scanner: VirusScanner
  beforeAll(async () => {
    scanner = await openScanner('yara:', { workers: 1 })
  })
  afterAll(() => scanner.close())
  const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), { signal: new AbortController().signal })

  test.each(only)('finds the virus in a container of type %s or reports an incomplete scan', async (container) => {
    const observed = containerKinds[container].open !== undefined
    const bytes = await samples[container](thrice)
    expect(await scan(bytes)).toMatchObject(observed ? found : incomplete)
    // A package consists of a header, gzip and cpio, so another level exceeds the depth limit.
    if (container !== 'rpm') expect(await scan(createZip({ name: 'a', bytes }))).toMatchObject(observed ? found : incomplete)
  })

  test('finds a virus after a skippable Zstandard frame', async () => {
    const skipped = Buffer.concat([Buffer.from('502a4d1804000000', 'hex'), Buffer.from('skip')])
    expect(await scan(Buffer.concat([skipped, Buffer.from(ofZstd, 'hex')]))).toMatchObject(found)
  })

  test.each(only.filter((container) => containerKinds[container].sevenZipType && container !== '7z' && container !== 'z'))(
    'reports a damaged container of type %s as incompletely scanned',
    async (container) => {
      const complete = await samples[container](noise(3000))
      const cut = container === 'iso' ? complete.subarray(0, 35_000) : complete.subarray(0, Math.floor(complete.length / 2))
      if (container !== 'dmg' && detectContainer(cut)) expect(await scan(cut)).toMatchObject(incomplete)
    },
  )
})

describeWith('clamd')('ClamAV', () => {
  test.each<[string, () => Promise<Buffer>]>([
    ['zip', async () => createZip({ name: 'a.lz4', bytes: Buffer.from(ofLz4, 'hex') })],
    ['7z', () => sevenZip({ 'a.lz4': Buffer.from(ofLz4, 'hex') })],
    ['tar', () => createTar([{ name: 'a.lz', data: started('LZIP\x01') }])],
    ['docx', async () => packedDocument({ ...docx(), 'word/embeddings/a.bin': Buffer.from(ofLz4, 'hex') })],
  ])('reports a .%s file that contains an unsupported container as incompletely scanned', async (extension, make) => {
    const inspector = createInspector({ scanner, workers: 1 })
    const report = await inspector.inspect(createSubmission(`a.${extension}`, await make(), { scanForViruses: true }))
    await inspector.close()
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'scan_incomplete' })
    expect(report.checks.at(-1)?.message).toContain('was not unpacked')
  })

  let daemon: Awaited<ReturnType<typeof startRealClamd>>
  let scanner: VirusScanner
  beforeAll(async () => {
    daemon = await startRealClamd()
    scanner = await openScanner(daemon.unixUrl)
  })
  afterAll(async () => {
    await scanner.close()
    await daemon.close()
  })

  test.each(only.filter((container) => !elsewhere.has(container)))(
    'ClamAV finds the virus in a container of type %s or reports an incomplete scan',
    async (container) => {
      const verdict = await scanner.scan(createMemoryContent(await samples[container](fromItsStart)), {
        signal: new AbortController().signal,
      })
      // ClamAV itself unpacks some containers that the built-in unpacker does not support.
      const may = !containerKinds[container].open && !openedByClamav.has(container) ? [found, incomplete] : [found]
      expect(may.map((each) => each.verdict)).toContain(verdict.verdict)
    },
  )
})
