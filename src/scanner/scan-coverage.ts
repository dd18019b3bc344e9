import type { Content } from '../body/content.js'
import { type Container, headLength, recognise } from './containers.js'
import { readRange } from './memory-content.js'
import { oleEncryption } from './ole-encryption.js'
import { pdfEncryption } from './pdf-encryption.js'
import { zipSummary } from './zip-summary.js'

/** What a daemon must be able to take in to have looked at everything, in bytes. */
export interface Needs {
  /** The largest single file or member: MaxFileSize. */
  largest: number
  /** All that is looked at together: MaxScanSize. */
  total: number
}

/** What clamd's OK leaves open about a content. */
export interface ScanCoverage {
  /** Why it cannot have looked at all of it. */
  incomplete?: string
  /** What cannot be known from outside. */
  note?: string
  needs: Needs
}

// clamd's MaxFiles, by default; beyond it the rest of an archive is left out without a word.
const mostMembers = 10_000

type Peek = (content: Content) => Promise<Omit<ScanCoverage, 'needs'> & { needs?: Needs }>

const silent =
  (what: string): Peek =>
  async () => ({ note: `${what}: clamd does not tell whether a password or a limit stopped it` })

const peeks: Record<Container, Peek> = {
  zip: peekZip,
  gzip: peekGzip,
  tar: async (content) => ({ needs: { largest: content.size, total: 2 * content.size } }),
  ole: async (content) => encrypted('an Office document', await oleEncryption(content)),
  pdf: async (content) => encrypted('a PDF', await pdfEncryption(content)),
  '7z': peek7z,
  rar: silent('RAR archive'),
  bzip2: silent('bzip2 file'),
  xz: silent('xz file'),
  zstd: silent('zstd file'),
  cab: silent('cabinet archive'),
  mail: async () => ({}),
  lz4: silent('LZ4 file'),
  lzip: silent('lzip file'),
}

/**
 * With its default settings clamd says OK to what is encrypted and to what is beyond its limits. What of that shows in a
 * few KiB of a file (a directory, a trailer, a header) is read here; the file itself never is.
 */
export async function scanCoverage(content: Content): Promise<ScanCoverage> {
  const whole = { largest: content.size, total: content.size }
  const container = recognise(await readRange(content, 0, headLength))
  return container ? { needs: whole, ...(await peeks[container](content)) } : { needs: whole }
}

function encrypted(what: string, how: string | undefined): { incomplete?: string } {
  return how ? { incomplete: `${what} that is encrypted (${how})` } : {}
}

async function peekZip(content: Content): ReturnType<Peek> {
  const zip = await zipSummary(content, mostMembers)
  if (!zip) return { note: 'zip archive: it has no directory at its end, so that it is not known what clamd saw of it' }
  if (zip.encrypted) return { incomplete: `member '${zip.encrypted}' of the zip archive is encrypted` }
  if (zip.members > mostMembers)
    return { incomplete: `the zip archive has more than ${mostMembers} members, which is as many as clamd looks at` }
  return { needs: { largest: Math.max(content.size, zip.largest), total: content.size + zip.unpacked } }
}

/** RFC 1952: the last four bytes are the unpacked size, modulo 2^32. */
async function peekGzip(content: Content): ReturnType<Peek> {
  const tail = await readRange(content, content.size - 4, content.size)
  const unpacked = tail.length === 4 ? tail.readUInt32LE() : 0
  return { needs: { largest: Math.max(content.size, unpacked), total: content.size + unpacked } }
}

// The coder AES-256 + SHA-256; in plain sight where the names are encrypted too, else often inside the packed directory.
const aesCoder = Buffer.from([0x06, 0xf1, 0x07, 0x01])

async function peek7z(content: Content): ReturnType<Peek> {
  const header = await readRange(content, 0, 32)
  if (header.length === 32) {
    const at = 32 + Number(header.readBigUInt64LE(12))
    const directory = await readRange(content, at, at + Math.min(64 * 1024, Number(header.readBigUInt64LE(20))))
    if (directory.includes(aesCoder)) return { incomplete: 'a 7z archive that is encrypted' }
  }
  return silent('7z archive')(content)
}
