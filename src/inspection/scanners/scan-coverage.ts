import type { RandomAccessSource } from '@assay/formats'
import { FileSource, FormatError, MemorySource } from '@assay/formats'
import { type Container, headLength, hidesZipDirectory, readZipDirectory, recognise } from '@assay/formats/archive'
import { OleContainer, oleEncryption } from '@assay/formats/office'
import { readEncryption } from '@assay/formats/pdf'
import { compiledModule } from '../../platform/compiled-module.js'
import { printable } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import { readRange } from '../../platform/spool/content.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import { containers } from './containers.js'

/** Sizes that a daemon must be able to scan, in bytes. */
export interface Needs {
  /** Largest single file or member (MaxFileSize). */
  largest: number
  total: number
}

/** Parts of a content that ClamAV's OK does not cover. */
export interface ScanCoverage {
  incomplete?: string
  note?: string
  container?: Container
  needs: Needs
}

// Default of ClamAV's MaxFiles. ClamAV skips further members without reporting it.
const maxMembers = 10_000

export interface CoverageOptions {
  pool?: WorkerPool | undefined
  signal?: AbortSignal
  owner?: string | undefined
}

const peekMs = 30_000
// Bytes. Directories of contents up to this size are read on the event loop.
const maxInlineBytes = 256 * 1024

type Peeked = Omit<ScanCoverage, 'needs' | 'container'> & { needs?: Needs }
type Peek = (source: RandomAccessSource) => Peeked

const silent: Peek = () => ({ note: 'ClamAV does not report whether a password or a limit stopped it' })

const peeks: Partial<Record<Container, Peek>> = {
  zip: peekZip,
  gzip: peekGzip,
  tar: ({ size }) => ({ needs: { largest: size, total: 2 * size } }),
  ole: (source) => encrypted('an Office document', oleEncryption(new OleContainer(source))),
  pdf: (source) => encrypted('a PDF', readEncryption(source)?.closed),
  '7z': peek7z,
  mail: () => ({}),
}

/** ClamAV reports OK for content that is encrypted, not unpacked or over its limits. Directories and headers show much of it: they are read here. */
export async function scanCoverage(content: Content, { pool, signal, owner }: CoverageOptions = {}): Promise<ScanCoverage> {
  const whole = { largest: content.size, total: content.size }
  const container = recognise(await readRange(content, 0, headLength))
  if (!container) return { needs: whole }
  const { name, clamav } = containers[container]
  if (clamav === 'no one') return { incomplete: `it is a ${name}, which ClamAV does not unpack`, needs: whole }
  const { bytes, path } = content
  if (bytes && bytes.length <= maxInlineBytes)
    return { container, needs: whole, ...peekInto(new MemorySource(bytes, ''), container) }
  const data = { path, container }
  const work = {
    module: compiledModule('inspection/scanners/scan-coverage'),
    run: 'peekIntoFile',
    data,
    bytes,
    inProcess: false,
    retryHung: false,
  }
  const limits = { size: content.size, owner, deadlineMs: peekMs }
  const peeked = pool
    ? await pool.run<Peeked>({ ...work, ...limits }, signal ?? new AbortController().signal)
    : peekIntoFile(data, content)
  return { container, needs: whole, ...peeked }
}

/** Runs in a worker, because the directory of a large file may take long to read. */
export function peekIntoFile(
  { path, container }: { path: string | undefined; container: Container },
  { bytes }: { bytes?: Buffer | undefined },
): Peeked {
  if (bytes) return peekInto(new MemorySource(bytes, ''), container)
  const file = new FileSource(path!, '')
  try {
    return peekInto(file, container)
  } finally {
    file.close()
  }
}

function peekInto(source: RandomAccessSource, container: Container): Peeked {
  try {
    return (peeks[container] ?? silent)(source)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    return { note: `a damaged ${containers[container].name}: it is unknown how much of it ClamAV scanned (${error.message})` }
  }
}

function encrypted(what: string, how: string | undefined): { incomplete?: string } {
  return how ? { incomplete: `${what} that is encrypted (${how})` } : {}
}

function peekZip(source: RandomAccessSource): ReturnType<Peek> {
  const limits = { maxUnpackedBytes: 0, maxRatio: 0, maxEntries: maxMembers + 1, maxNesting: 0, maxPictureBits: 0, maxDepth: 0 }
  if (hidesZipDirectory(source, { ...limits, deadline: Number.POSITIVE_INFINITY }))
    return { incomplete: 'a zip archive that is encrypted, its directory too' }
  const { entries } = readZipDirectory(source, { ...limits, deadline: Number.POSITIVE_INFINITY }, { partial: true })
  const closed = entries.find((entry) => entry.encrypted)
  if (closed) return { incomplete: `member '${printable(closed.nameBytes.toString('utf8'))}' of the zip archive is encrypted` }
  if (entries.length > maxMembers)
    return { incomplete: `the zip archive has more than ${maxMembers} members, and ClamAV scans no more than that` }
  let [largest, total] = [source.size, source.size]
  for (const { uncompressedSize } of entries) {
    largest = Math.max(largest, uncompressedSize)
    total += uncompressedSize
  }
  return { needs: { largest, total } }
}

/** RFC 1952: the last four bytes are the unpacked size, modulo 2^32. */
function peekGzip(source: RandomAccessSource): ReturnType<Peek> {
  const tail = source.read(source.size - 4, 4)
  const unpacked = tail.length === 4 ? tail.readUInt32LE() : 0
  return { needs: { largest: Math.max(source.size, unpacked), total: source.size + unpacked } }
}

// Id of the coder AES-256 + SHA-256. It is readable if the names are encrypted too; otherwise it is often inside the compressed directory.
const aesCoder = Buffer.from([0x06, 0xf1, 0x07, 0x01])

function peek7z(source: RandomAccessSource): ReturnType<Peek> {
  const header = source.read(0, 32)
  const at = header.length === 32 ? 32 + Number(header.readBigUInt64LE(12)) : source.size
  const directory = source.read(at, 64 * 1024)
  return directory.includes(aesCoder) ? { incomplete: 'a 7z archive that is encrypted' } : silent(source)
}
