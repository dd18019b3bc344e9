import { closeSync, openSync, writeSync } from 'node:fs'
import { FileSource, MemorySource } from '@assay/formats'
import { type Container, detectContainer, detectContainerAtEnd, headLength, tailLength } from '@assay/formats/archive'
import {
  type Origin,
  overlapBytes,
  type Visitor,
  WalkEnded,
  type WindowPosition,
  type WindowReceiver,
  walk,
} from '@assay/formats/walk'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import { type Content, readRange } from '../../platform/spool/content.js'
import type { WorkerCall } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'

/** Containers that ClamAV unpacks in the same way as common programs. ClamAV may skip members of all other containers. */
export const openedByClamav: ReadonlySet<Container> = new Set<Container>(['zip', 'gzip', 'tar', 'ole', 'pdf'])

/** Sizes in bytes that a daemon must be able to scan. */
export interface RequiredSizes {
  /** Size of the largest file or member (clamd's MaxFileSize). */
  largest: number
  total: number
}

/** Content that is unpacked for the daemon, stored in ranges of the parts file. */
export interface ScanPart {
  ranges: { start: number; length: number }[]
  size: number
  needs: RequiredSizes
}

/** Requirements for ClamAV to scan the file completely, and the parts that must be scanned separately. */
export interface ScanCoverage {
  /** Reason why a part of the file cannot be unpacked. */
  incomplete?: string
  /** Sizes that ClamAV must be able to scan in the file itself, without its `parts`. */
  needs: RequiredSizes
  /** True if a complete scan requires ClamAV to unpack members. */
  reliesOnClamav: boolean
  parts: ScanPart[]
}

interface CoverageJob {
  /** Path of an existing file, which is overwritten with the parts. */
  partsFile: string
  /** True to send every archive member to the scanner as a separate part. By default, only members that ClamAV might skip are sent. */
  everything?: boolean
}

export interface CoverageOptions extends CoverageJob {
  pool?: WorkerPool | undefined
  signal?: AbortSignal
  owner?: string | undefined
}

const deadlineMs = 120_000

/** Returns true for containers and files with an appended archive. ClamAV scans all other files completely within its limits. */
export async function hasContainer(content: Content): Promise<boolean> {
  const head = await readRange(content, 0, headLength)
  const tail = await readRange(content, content.size - tailLength, content.size)
  return detectContainer(head) !== undefined || detectContainerAtEnd(tail) !== undefined
}

/**
 * Determines which parts of a file ClamAV scans. The caller must also scan the rest, because ClamAV reports OK even for content
 * that it does not unpack.
 */
export async function determineCoverage(content: Content, options: CoverageOptions): Promise<ScanCoverage> {
  const { pool, signal, owner, ...job } = options
  const { bytes, path, size } = content
  const data = { ...job, path }
  if (!pool) return computeCoverage(data, { bytes, cancelled: () => signal?.aborted ?? false })
  const module = getCompiledModuleUrl('inspection/scanners/scan-coverage')
  const work = { module, run: 'computeCoverage', data, bytes, inProcess: false, retryHung: false, size, owner, deadlineMs }
  return pool.run<ScanCoverage>(work, signal ?? new AbortController().signal)
}

class Cancelled extends WalkEnded {}

/** Runs in a worker if a pool is available, because unpacking may take a long time. */
export async function computeCoverage(
  { path, ...job }: CoverageJob & { path: string | undefined },
  { bytes, cancelled }: Pick<WorkerCall, 'bytes' | 'cancelled'>,
): Promise<ScanCoverage> {
  const file = bytes ? undefined : new FileSource(path!, '')
  const source = file ?? new MemorySource(bytes!, '')
  const visitor = new CoverageVisitor(source.size, job)
  const throwIfCancelled = () => {
    if (cancelled()) throw new Cancelled('the scan was cancelled')
  }
  try {
    const { unscannedParts } = await walk(source, { visitor, step: throwIfCancelled })
    const { requiredSizes: needs, reliesOnClamav, parts } = visitor
    return { needs, reliesOnClamav, parts, ...(unscannedParts[0] && { incomplete: unscannedParts[0].reason }) }
  } catch (error) {
    if (!(error instanceof TooManyParts)) throw error
    return { needs: visitor.requiredSizes, reliesOnClamav: false, parts: [], incomplete: error.message }
  } finally {
    visitor.close()
    file?.close()
  }
}

const maxPartsBytes = 2 * 1024 * 1024 * 1024
const maxParts = 20_000
/** ClamAV's default for MaxFiles. ClamAV silently skips further members. */
const maxFiles = 10_000

class TooManyParts extends WalkEnded {}

/** Content that is sent to the daemon as one stream, including the members that the daemon unpacks from it. */
interface ScanUnit extends ScanPart {
  files: number
  /** Sum of the unpacked sizes that headers declare. ClamAV skips members whose declared size exceeds its limits. */
  declared: number
}

/** Divides a file into units that ClamAV scans completely: the file itself, and all content that ClamAV might not unpack. */
class CoverageVisitor implements Visitor {
  readonly separateParts = true
  readonly #file: ScanUnit
  readonly #parts: ScanUnit[] = []
  readonly #unitOf = new WeakMap<WindowReceiver, ScanUnit>()
  #descriptor: number | undefined
  #written = 0

  constructor(
    size: number,
    private readonly job: CoverageJob,
  ) {
    // ClamAV also extracts the uncompressed parts of a document and adds their sizes to the total. They are at most as large as
    // the document, so the total is at most twice its size.
    this.#file = { ranges: [], size, files: 1, declared: 0, needs: { largest: size, total: 2 * size } }
  }

  get requiredSizes(): RequiredSizes {
    return getRequiredSizes(this.#file)
  }

  get parts(): ScanPart[] {
    const filled = this.#parts.filter(({ size }) => size > 0)
    return filled.map((unit) => ({ ranges: unit.ranges, size: unit.size, needs: getRequiredSizes(unit) }))
  }

  /** True if a complete scan requires ClamAV to unpack members. */
  get reliesOnClamav(): boolean {
    return [this.#file, ...this.#parts].some(({ files }) => files > 1)
  }

  onDeclaredSize(bytes: number, container: WindowReceiver): void {
    if (this.job.everything) return
    const unit = this.#unitOf.get(container)!
    unit.declared += bytes
    unit.needs.largest = Math.max(unit.needs.largest, bytes)
  }

  onContent(origin?: Origin): WindowReceiver {
    const around = origin && this.#unitOf.get(origin.parent)!
    const isUnpackedByClamav = origin?.isCommon && openedByClamav.has(origin.container) && !this.job.everything
    const unit = !around ? this.#file : isUnpackedByClamav ? around : this.#createPart()
    if (unit === around) unit.files++
    let size = 0
    const receive = (bytes: Buffer, { first }: WindowPosition) => {
      // Do not count the file itself, because its size is already included.
      if (!around) return
      const added = first ? bytes : bytes.subarray(overlapBytes)
      if (unit !== around) this.#write(unit, added)
      size += added.length
      unit.needs.total += added.length
      unit.needs.largest = Math.max(unit.needs.largest, size)
    }
    this.#unitOf.set(receive, unit)
    return receive
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #createPart(): ScanUnit {
    const unit = { ranges: [], size: 0, files: 1, declared: 0, needs: { largest: 0, total: 0 } }
    this.#parts.push(unit)
    if (this.#parts.length > maxParts)
      throw new TooManyParts(`the file has more than ${maxParts} members that ClamAV does not unpack`)
    return unit
  }

  #write(unit: ScanUnit, bytes: Buffer): void {
    if (this.#written + bytes.length > maxPartsBytes)
      throw new TooManyParts(`the members that ClamAV does not unpack exceed ${maxPartsBytes} bytes in total`)
    this.#descriptor ??= openSync(this.job.partsFile, 'r+')
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at, bytes.length - at, this.#written + at)
    const last = unit.ranges.at(-1)
    if (last && last.start + last.length === this.#written) last.length += bytes.length
    else unit.ranges.push({ start: this.#written, length: bytes.length })
    unit.size += bytes.length
    this.#written += bytes.length
  }
}

const getRequiredSizes = ({ files, declared, size, needs }: ScanUnit): RequiredSizes => ({
  largest: files > maxFiles ? Number.POSITIVE_INFINITY : needs.largest,
  total: Math.max(needs.total, size + declared),
})
