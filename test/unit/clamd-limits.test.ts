import { createHash, randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { deflateSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { fromBufferPromise } from 'yauzl'
import { getKeyForEmptyPassword } from '../../packages/formats/src/pdf/password.js'
import { sevenZip } from '../../packages/formats/test/support/samples/archive.js'
import { compound, doc, ppt, xls } from '../../packages/formats/test/support/samples/office.js'
import { createLimitProbe } from '../../src/inspection/scanners/clamd/limit-probe.js'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { determineCoverage } from '../../src/inspection/scanners/scan-coverage.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { WorkerPool } from '../../src/inspection/workers/worker-pool.js'
import { clean, createFileContent, createMemoryContent, createZip, eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { startClamdEmulator } from '../support/scripted-clamd.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const text = Buffer.from('text')

/** Returns the scan coverage of a file and deletes its unpacked parts. */
async function getCoverage(content: Parameters<typeof determineCoverage>[0], options: { pool?: WorkerPool } = {}) {
  const partsFile = join(tmpdir(), `assay-test-parts-${randomUUID()}`)
  await writeFile(partsFile, '')
  try {
    return await determineCoverage(content, { partsFile, ...options })
  } finally {
    await rm(partsFile, { force: true })
  }
}

describe('scan coverage', () => {
  test('determines the scan coverage of a zip from its encryption, member count and declared sizes', async () => {
    const of = (zip: Buffer) => getCoverage(createMemoryContent(zip))
    expect(await of(createZip({ name: 'a', bytes: text }))).toMatchObject({ needs: { largest: expect.any(Number) } })
    expect((await of(createZip({ name: 'a', bytes: text }))).incomplete).toBeUndefined()
    expect(await of(createZip({ name: 'a', bytes: text }, { name: 'b', bytes: text, encrypted: true }))).toMatchObject({
      incomplete: expect.stringContaining("'b'"),
    })
    const members = Array.from({ length: 10_001 }, (_, index) => ({ name: `${index}`, bytes: Buffer.alloc(0), stored: true }))
    expect((await of(createZip(...members))).needs.largest).toBe(Number.POSITIVE_INFINITY)
    const zip = createZip(
      { name: 'a', bytes: text, declaredSize: 3_000_000_000 },
      { name: 'b', bytes: text, declaredSize: 2_000_000_000 },
    )
    expect(await of(zip)).toMatchObject({ needs: { largest: 3_000_000_000, total: 5_000_000_000 + zip.length } })
  })

  test('determines the scan coverage of a file both with and without a worker pool', async () => {
    const file = await createFileContent(createZip({ name: 'b', bytes: text, encrypted: true }))
    const pool = new WorkerPool({ workers: 1 })
    try {
      for (const options of [{}, { pool }])
        expect(await getCoverage(file, options)).toMatchObject({ incomplete: expect.stringContaining('encrypted') })
    } finally {
      await pool.close()
      await file.remove()
    }
  })

  test.each(['EncryptedPackage', 'EncryptedSummary'])('identifies an OLE file as encrypted if it contains %s', async (name) => {
    const ole = compound({ [name]: Buffer.from('x') })
    expect(await getCoverage(createMemoryContent(ole))).toMatchObject({ incomplete: expect.stringContaining(name) })
  })

  test.each([
    ['Word', doc],
    ['Excel', xls],
    ['PowerPoint', ppt],
  ])('identifies a document of type %s as encrypted only if it has a password', async (program, streams) => {
    const of = (encrypted: boolean) => getCoverage(createMemoryContent(compound(streams({ encrypted }))))
    expect(await of(true)).toMatchObject({ incomplete: expect.stringContaining(program) })
    expect((await of(false)).incomplete).toBeUndefined()
  })

  test('reports a damaged OLE file as incompletely scanned', async () => {
    const ole = compound({ Other: Buffer.from('x') })
    expect(await getCoverage(createMemoryContent(ole.subarray(0, 600)))).toMatchObject({
      incomplete: expect.stringContaining('damaged'),
    })
  })

  test.each(['zstd', 'lz4', 'lzip'])(
    'reports the container %s as incompletely scanned because no unpacker supports it',
    async (name) => {
      const magic = { zstd: '28b52ffd', lz4: '04224d18', lzip: '4c5a495001' }[name]!
      expect(await getCoverage(createMemoryContent(Buffer.concat([Buffer.from(magic, 'hex'), text])))).toMatchObject({
        incomplete: expect.any(String),
      })
    },
  )

  test('reports an encrypted 7z as incompletely scanned', async () => {
    const of = async (switches: string[]) => getCoverage(createMemoryContent(await sevenZip({ a: text }, switches)))
    for (const switches of [['-psecret'], ['-psecret', '-mhe=on']])
      expect(await of(switches)).toMatchObject({ incomplete: expect.stringContaining('encrypted') })
    expect(await of([])).toMatchObject({ parts: [{ size: text.length }] })
  })

  test('identifies a PDF as encrypted only if it requires a password', async () => {
    expect(await getCoverage(createMemoryContent(createEncryptedPdf('secret')))).toMatchObject({
      incomplete: expect.stringContaining('password'),
    })
    expect((await getCoverage(createMemoryContent(createEncryptedPdf('')))).incomplete).toBeUndefined()
    expect(
      (await getCoverage(createMemoryContent('%PDF-1.7\ntrailer << /Root 1 0 R >>\nstartxref\n9\n%%EOF\n'))).incomplete,
    ).toBeUndefined()
  })

  test('derives the key of an encrypted PDF only if its user password is empty', () => {
    const salt = Buffer.from('12345678')
    const user = Buffer.concat([createHash('sha256').update(salt).digest(), salt, Buffer.alloc(8)])
    const userKey = Buffer.alloc(32)
    const other = { owner: Buffer.alloc(48), userKey, permissions: -4, keyBytes: 32, id: Buffer.alloc(0), metadata: true }
    expect(getKeyForEmptyPassword({ ...other, revision: 5, user })).toHaveLength(32)
    expect(getKeyForEmptyPassword({ ...other, revision: 5, user: Buffer.alloc(48) })).toBeUndefined()
    expect(getKeyForEmptyPassword({ ...other, revision: 6, user })).toBeUndefined()
  })
})

describe('clamd scan limits', () => {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close()
  })

  async function scannerOn(answer: (stream: Buffer) => string): Promise<VirusScanner> {
    const daemon = await startClamdEmulator({ response: answer })
    opened.push(daemon)
    const scanner = await openScanner(daemon.url)
    opened.push(scanner)
    return scanner
  }

  test.each([
    [64 * 1024, 128 * 1024],
    [5 * mebibyte + 77, 23 * mebibyte + 1],
  ])('creates a test zip with members of up to %d bytes, %d bytes in total', async (largest, total) => {
    const probe = createLimitProbe(largest, total)
    const bytes = await buffer(probe.stream())
    expect(bytes.length).toBe(probe.size)
    // An unanchored signature would match the string in a file that stores it uncompressed.
    expect(bytes.includes(eicar)).toBe(false)
    const sizes: number[] = []
    const zip = await fromBufferPromise(bytes)
    for await (const entry of zip.eachEntry()) {
      const unpacked = await buffer(await zip.openReadStreamPromise(entry))
      sizes.push(unpacked.length)
      expect(unpacked.includes(eicar)).toBe(false)
      if (entry.fileName === 'last.zip') expect(await unpackMembers(unpacked)).toEqual([eicar])
    }
    expect([Math.max(...sizes), sizes.at(-1), sizes.reduce((sum, size) => sum + size)]).toEqual([largest, largest, total])
  })

  test('creates a test zip smaller than 10 MiB that unpacks to 8 GiB', async () => {
    const startedAt = performance.now()
    const probe = createLimitProbe(16 * mebibyte, 8192 * mebibyte)
    // The test zip is created on the event loop.
    expect(performance.now() - startedAt).toBeLessThan(500)
    expect(probe.size).toBeLessThan(10 * mebibyte)
    let chunks = 0
    let longest = 0
    for await (const chunk of probe.stream()) {
      chunks++
      longest = Math.max(longest, chunk.length)
    }
    expect(longest).toBeLessThan(64 * 1024)
    expect(chunks).toBeLessThan(400)
  })

  test("tests clamd's limits only once for large content and never for small content", async () => {
    let probes = 0
    const scanner = await scannerOn((stream) => {
      const probe = stream.includes('last.zip')
      if (probe) probes++
      return probe ? 'stream: Test.EICAR FOUND\0' : 'stream: OK\0'
    })
    const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), never())
    expect(await scan(text)).toEqual(clean)
    expect(probes).toBe(0)
    const verdicts = await Promise.all([
      scan(Buffer.alloc(2 * mebibyte)),
      scan(Buffer.alloc(3 * mebibyte)),
      scan(Buffer.alloc(4 * mebibyte)),
    ])
    expect(verdicts.every(({ verdict }) => verdict === 'clean')).toBe(true)
    expect(probes).toBe(1)
  })

  test.each([
    ['low limits', 4_000, { verdict: 'incomplete', reason: expect.stringContaining('MaxFileSize') }],
    ['limits that cannot be measured', 0, { verdict: 'incomplete', reason: expect.stringContaining('to measure') }],
  ])('reports a large file as incompletely scanned if the clamd daemon has %s', async (_, maxProbeBytes, verdict) => {
    const scanner = await scannerOn((stream) =>
      stream.includes('last.zip') && stream.length < maxProbeBytes ? 'stream: Test.EICAR FOUND\0' : 'stream: OK\0',
    )
    expect(await scanner.scan(createMemoryContent(Buffer.alloc(6 * mebibyte)), never())).toMatchObject(verdict)
  })

  test('sends a zip to clamd member by member if its declared sizes exceed any limit', async () => {
    const sent: Buffer[] = []
    const scanner = await scannerOn((stream) => {
      sent.push(stream)
      return stream.includes('last.zip') ? 'a probe ERROR\0' : 'stream: OK\0'
    })
    const declaring = async (...declaredSizes: number[]) => {
      sent.length = 0
      const members = declaredSizes.map((size, index) => ({
        name: `${index}`,
        bytes: Buffer.from(`member ${index}`),
        declaredSize: size,
      }))
      expect(await scanner.scan(createMemoryContent(createZip(...members)), never())).toMatchObject({ verdict: 'clean' })
      for (const { bytes } of members) expect(sent.some((stream) => stream.includes(bytes))).toBe(true)
    }
    await declaring(3 * 1024 * mebibyte)
    await declaring(...Array(9).fill(1024 * mebibyte))
  })

  test("retests clamd's limits once the daemon is available again", async () => {
    const daemon = await startClamdEmulator({
      response: (stream) =>
        stream.includes('last.zip') && stream.length < 4_000 ? 'stream: Test.EICAR FOUND\0' : 'stream: OK\0',
    })
    const scanner = await openScanner(daemon.url)
    opened.push(scanner)
    const file = createMemoryContent(Buffer.alloc(6 * mebibyte))
    expect(await scanner.scan(file, never())).toMatchObject({ verdict: 'incomplete' })
    await daemon.close()
    await expect(scanner.scan(file, never())).rejects.toMatchObject({ code: 'scanner_unavailable' })
    const generous = await startClamdEmulator(
      { response: (stream) => (stream.includes('last.zip') ? 'stream: Test.EICAR FOUND\0' : 'stream: OK\0') },
      'tcp',
      Number(new URL(daemon.url).port),
    )
    opened.push(generous)
    expect(await scanner.scan(file, never())).toEqual(clean)
  })

  test('reports the scanner as unavailable if clamd rejects the test of its limits', async () => {
    const scanner = await scannerOn((stream) => (stream.includes('last.zip') ? 'stream: No space left ERROR\0' : 'stream: OK\0'))
    await expect(scanner.scan(createMemoryContent(Buffer.alloc(2 * mebibyte)), never())).rejects.toMatchObject({
      code: 'scanner_unavailable',
    })
  })
})

describeWith('clamd')('real clamd with low scan limits', () => {
  let daemon: RealClamd
  let scanner: VirusScanner

  beforeAll(async () => {
    daemon = await startRealClamd(['StreamMaxLength 12M', 'MaxFileSize 10M', 'MaxScanSize 30M'])
    scanner = await openScanner(daemon.unixUrl)
  })

  afterAll(async () => {
    await scanner?.close()
    await daemon?.close()
  })

  const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), never())
  const zeros = (size: number, mark = '') => Buffer.concat([Buffer.from(mark), Buffer.alloc(size)])

  test("detects infected files within clamd's limits", async () => {
    expect(await scan(zeros(6 * mebibyte))).toEqual(clean)
    expect(await scan(createZip({ name: 'a', bytes: zeros(7 * mebibyte) }))).toEqual(clean)
    expect(await scan(Buffer.concat([eicar, zeros(6 * mebibyte)]))).toMatchObject({ verdict: 'infected' })
  })

  test('reports a zip as incompletely scanned if a member exceeds MaxFileSize', async () => {
    expect(await scan(createZip({ name: 'a', bytes: zeros(11 * mebibyte) }))).toMatchObject({ verdict: 'incomplete' })
  })

  test('scans members one by one if their total size exceeds MaxScanSize', async () => {
    const members = Array.from({ length: 5 }, (_, index) => ({ name: `${index}`, bytes: zeros(8 * mebibyte, `${index}`) }))
    expect(await scan(createZip(...members))).toEqual(clean)
    expect(await scan(createZip(...members, { name: 'last', bytes: eicar }))).toMatchObject({ verdict: 'infected' })
  })

  test('reports a file as incompletely scanned if it exceeds MaxFileSize or StreamMaxLength', async () => {
    expect(await scan(zeros(11 * mebibyte))).toMatchObject({ verdict: 'incomplete' })
    expect(await scan(zeros(13 * mebibyte))).toMatchObject({ verdict: 'incomplete' })
  })

  test('reports the scan of 50 MiB of zeros as incomplete, and does not crash', async () => {
    const large = await createFileContent(zeros(50 * mebibyte))
    try {
      expect(await scanner.scan(large, never())).toMatchObject({ verdict: 'incomplete' })
    } finally {
      await large.remove()
    }
  })

  test('reports the scanner as unavailable if clamd is killed', async () => {
    await daemon.kill('SIGKILL')
    await expect(scan(text)).rejects.toMatchObject({ code: 'scanner_unavailable' })
    await expect(scanner.verifyDetection()).rejects.toMatchObject({ code: 'scanner_unavailable' })
  })
})

describeWith('clamd')('real clamd that does not unpack archives', () => {
  test('scans each member of a small zip separately', async () => {
    const daemon = await startRealClamd(['ScanArchive no'])
    const scanner = await openScanner(daemon.unixUrl)
    try {
      expect(await scanner.scan(createMemoryContent(createZip({ name: 'a', bytes: text })), never())).toEqual(clean)
      const zip = createZip({ name: 'a', bytes: eicar })
      expect(await scanner.scan(createMemoryContent(zip), never())).toMatchObject({ verdict: 'infected' })
    } finally {
      await scanner.close()
      await daemon.close()
    }
  })
})

async function unpackMembers(bytes: Buffer): Promise<Buffer[]> {
  const zip = await fromBufferPromise(bytes)
  const members: Buffer[] = []
  for await (const entry of zip.eachEntry()) members.push(await buffer(await zip.openReadStreamPromise(entry)))
  return members
}

/** Builds a PDF with encryption revision 2, 40 bits (ISO 32000-2, 7.6.4), independently of the tested code. */
function createEncryptedPdf(password: string): Buffer {
  const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')
  const owner = Buffer.alloc(32, 'o')
  const id = Buffer.alloc(16, 'i')
  const permissions = Buffer.alloc(4)
  permissions.writeInt32LE(-4)
  const padded = Buffer.concat([Buffer.from(password), padding]).subarray(0, 32)
  const key = createHash('md5')
    .update(Buffer.concat([padded, owner, permissions, id]))
    .digest()
    .subarray(0, 5)
  const user = arc4(key, padding)
  const escaped = user.toString('latin1').replace(/[\\()\r\n]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
  const stream = deflateSync('BT ET').toString('latin1')
  return Buffer.from(
    `%PDF-1.4\n1 0 obj << /Length ${stream.length} >> stream\n${stream}\nendstream endobj\n` +
      `7 0 obj << /Filter /Standard /V 1 /R 2 /P -4 /O <${owner.toString('hex')}> /U (${escaped}) >> endobj\n` +
      `xref\n0 1\n0000000000 65535 f \ntrailer << /Root 2 0 R /Encrypt 7 0 R /ID [<${id.toString('hex')}> <00>] >>\nstartxref\n9\n%%EOF\n`,
    'latin1',
  )
}

function arc4(key: Buffer, data: Buffer): Buffer {
  const s = Array.from({ length: 256 }, (_, index) => index)
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + s[i]! + key[i % key.length]!) % 256
    ;[s[i], s[j]] = [s[j]!, s[i]!]
  }
  let i = 0
  let j = 0
  return Buffer.from(
    [...data].map((byte) => {
      i = (i + 1) % 256
      j = (j + s[i]!) % 256
      ;[s[i], s[j]] = [s[j]!, s[i]!]
      return byte ^ s[(s[i]! + s[j]!) % 256]!
    }),
  )
}
