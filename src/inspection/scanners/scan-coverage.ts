import { FileSource, MemorySource } from '@assay/formats'
import { detectContainer, detectContainerAtEnd, headLength, tailLength } from '@assay/formats/archive'
import { WalkEnded, walk } from '@assay/formats/walk'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import type { Content } from '../../platform/spool/content.js'
import { readRange } from '../../platform/spool/content.js'
import type { WorkerCall } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import { CoverageVisitor, type RequiredSizes, type ScanPart, TooManyParts } from './coverage-visitor.js'

/** Content that a clean verdict from ClamAV covers, and content that must be scanned in addition. */
export interface ScanCoverage {
  /** Reason why a part of the file cannot be unpacked. */
  incomplete?: string
  /** Sizes that ClamAV must be able to scan, excluding the parts. */
  needs: RequiredSizes
  /** True if ClamAV must unpack members. */
  reliesOnClamav: boolean
  parts: ScanPart[]
}

export interface CoverageOptions {
  /** Path of an existing file to which the parts are written. */
  partsFile: string
  /** True if every member becomes a part. Otherwise, only members that ClamAV may skip become parts. */
  everything?: boolean
  pool?: WorkerPool | undefined
  signal?: AbortSignal
  owner?: string | undefined
}

const deadlineMs = 120_000

/**
 * Returns true for a container, or a file with an appended archive. ClamAV scans all other files completely within its limits.
 */
export async function hasContainer(content: Content): Promise<boolean> {
  const head = await readRange(content, 0, headLength)
  const tail = await readRange(content, content.size - tailLength, content.size)
  return detectContainer(head) !== undefined || detectContainerAtEnd(tail) !== undefined
}

/**
 * Determines which parts of a file ClamAV scans. ClamAV reports OK for content that is encrypted, not unpacked or beyond its
 * limits. Walks the file in the same way as the built-in scanner.
 */
export async function determineCoverage(content: Content, options: CoverageOptions): Promise<ScanCoverage> {
  const { pool, signal, owner, partsFile, everything = false } = options
  const { bytes, path, size } = content
  const data: CoverageJob = { path, partsFile, everything }
  if (!pool) return computeCoverage(data, { bytes, cancelled: () => signal?.aborted ?? false })
  const module = getCompiledModuleUrl('inspection/scanners/scan-coverage')
  const work = { module, run: 'computeCoverage', data, bytes, inProcess: false, retryHung: false, size, owner, deadlineMs }
  return pool.run<ScanCoverage>(work, signal ?? new AbortController().signal)
}

interface CoverageJob {
  path: string | undefined
  partsFile: string
  everything: boolean
}

class Cancelled extends WalkEnded {}

/** Entry point for the worker. A worker is used because unpacking may take long. */
export async function computeCoverage(
  { path, ...job }: CoverageJob,
  { bytes, cancelled }: Pick<WorkerCall, 'bytes' | 'cancelled'>,
): Promise<ScanCoverage> {
  const file = bytes ? undefined : new FileSource(path!, '')
  const source = file ?? new MemorySource(bytes!, '')
  const visitor = new CoverageVisitor({ size: source.size, ...job })
  const step = () => {
    if (cancelled()) throw new Cancelled('the scan was cancelled')
  }
  try {
    const { unscannedParts } = await walk(source, { visitor, step })
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
