import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Content } from '../../../platform/spool/content.js'
import { createSpoolName } from '../../../platform/spool/spool.js'
import {
  type CoverageOptions,
  determineCoverage,
  hasContainer,
  type RequiredSizes,
  type ScanCoverage,
  type ScanPart,
} from '../scan-coverage.js'
import type { UnverifiedVerdict } from '../verdict.js'

export interface PartScanner {
  scan(content: Content): Promise<UnverifiedVerdict>
  /** Returns undefined if the daemon can scan these sizes and, if required, unpack members. Otherwise, returns the reason. */
  exceeds(needs: RequiredSizes, reliesOnClamav: boolean): Promise<string | undefined>
}

export interface UnpackedScanOptions extends Omit<CoverageOptions, 'partsFile' | 'everything'> {
  directory: string
}

/** Time limit for scanning all parts of a file. */
const maxPartsMs = 120_000

/**
 * Completes the scan of a file for which clamd reported OK. Content that clamd does not unpack, or that exceeds its limits, is
 * unpacked here and sent to clamd in parts.
 */
export async function scanUnpacked(
  content: Content,
  scanner: PartScanner,
  { directory, ...options }: UnpackedScanOptions,
): Promise<UnverifiedVerdict> {
  if (!(await hasContainer(content))) {
    const reason = await scanner.exceeds({ largest: content.size, total: content.size }, false)
    return reason ? { verdict: 'incomplete', reason } : { verdict: 'clean' }
  }
  const partsFile = join(directory, createSpoolName())
  const deadline = Date.now() + maxPartsMs
  // Create the file here and not in the worker. The worker of a cancelled scan could otherwise create it after it was removed.
  await (await open(partsFile, 'wx', 0o600)).close()
  try {
    const coverage = await determineCoverage(content, { ...options, partsFile })
    if (coverage.incomplete) return { verdict: 'incomplete', reason: coverage.incomplete }
    if (!(await findExceededLimit(coverage, scanner))) return await scanParts(coverage, { scanner, partsFile, deadline })
    const every = await determineCoverage(content, { ...options, partsFile, everything: true })
    const reason = every.incomplete ?? (await findExceededLimit(every, scanner))
    if (reason) return { verdict: 'incomplete', reason }
    return await scanParts(every, { scanner, partsFile, deadline })
  } finally {
    await rm(partsFile, { force: true })
  }
}

/**
 * Returns the reason if a part exceeds clamd's limits. One check of the largest sizes suffices: a daemon that scans content of
 * these sizes scans each part completely.
 */
function findExceededLimit({ needs, reliesOnClamav, parts }: ScanCoverage, scanner: PartScanner): Promise<string | undefined> {
  const all = [needs, ...parts.map((part) => part.needs)]
  const largest = all.reduce((max, each) => Math.max(max, each.largest), 0)
  const total = all.reduce((max, each) => Math.max(max, each.total), 0)
  return scanner.exceeds({ largest, total }, reliesOnClamav)
}

interface PartsScan {
  scanner: PartScanner
  partsFile: string
  /** Deadline in milliseconds since the epoch. */
  deadline: number
}

async function scanParts({ parts }: ScanCoverage, { scanner, partsFile, deadline }: PartsScan): Promise<UnverifiedVerdict> {
  for (const part of parts) {
    if (Date.now() > deadline)
      return { verdict: 'incomplete', reason: `ClamAV did not scan all members of the file within ${maxPartsMs} ms` }
    const verdict = await scanner.scan(toContent(partsFile, part))
    if (verdict.verdict !== 'clean') return verdict
  }
  return { verdict: 'clean' }
}

const toContent = (partsFile: string, { ranges, size }: ScanPart): Content => ({
  size,
  // The digest is empty, because no scanner uses it.
  sha256: '',
  stream: () => Readable.from(readRanges(partsFile, ranges)),
})

async function* readRanges(path: string, ranges: ScanPart['ranges']): AsyncGenerator<Buffer> {
  for (const { start, length } of ranges) yield* createReadStream(path, { start, end: start + length - 1 })
}
