import type { Content } from '../../../platform/spool/content.js'
import type { RequiredSizes } from '../scan-coverage.js'
import type { UnverifiedVerdict } from '../verdict.js'
import type { Daemon } from './daemons.js'
import { createLimitProbe } from './limit-probe.js'
import { rejectOnAbort } from './proof.js'

const mebibyte = 1024 * 1024
// Sizes that are assumed to be within MaxFileSize and MaxScanSize, so that small files need no probe.
const assumedSizes: RequiredSizes = { largest: mebibyte, total: 4 * mebibyte }
// Maximum sizes to probe. ClamAV does not scan files larger than 2 GB, and a probe of 8 GiB takes half a minute.
const maxProbeSizes: RequiredSizes = { largest: 2 * 1024 * mebibyte, total: 8 * 1024 * mebibyte }
// Maximum number of filler members in a probe. More would be needed only if clamd had a large limit for the total size and a
// tiny limit for each member, which is unrealistic.
const maxFillers = 512
// Time for which results are cached. A restart can change the limits without changing the version.
const rememberedMs = 30 * 60_000
const maxRememberedResults = 64
const minProbeSizes: RequiredSizes = { largest: 64 * 1024, total: 128 * 1024 }

interface KnownLimits {
  version: string
  until: number
  tried: { sizes: RequiredSizes; isDetected: boolean }[]
  /** Latest probe. Probes run one at a time, because the result of one probe usually also answers the next query. */
  last: Promise<unknown>
}

type ScanProbe = (daemon: Daemon, probe: Content, signal: AbortSignal) => Promise<UnverifiedVerdict>

/**
 * Determines the size limits of daemons. clamd reports OK for data beyond its limits, and the limits cannot be queried. A daemon
 * must therefore detect the EICAR string at the end of a probe that unpacks to the required size. Results are cached.
 */
export class ClamdLimits {
  readonly #known = new Map<Daemon, KnownLimits>()

  constructor(private readonly scan: ScanProbe) {}

  setVersion(daemon: Daemon, version: string): void {
    const known = this.#getKnownLimits(daemon)
    if (known.version && known.version !== version) known.tried.length = 0
    known.version = version
  }

  /** Discards cached results after a connection failure, because a restarted daemon may have different limits. */
  forget(daemon: Daemon): void {
    this.#getKnownLimits(daemon).tried.length = 0
  }

  /** Returns undefined if the daemon scans content of these sizes and unpacks members. Otherwise, returns an error message. */
  async findLimitProblem(
    daemon: Daemon,
    { requiredSizes, mustUnpack }: { requiredSizes: RequiredSizes; mustUnpack: boolean },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!mustUnpack && coversSizes(assumedSizes, requiredSizes)) return undefined
    const [chunk, all] = [formatMegabytes(requiredSizes.largest), formatMegabytes(requiredSizes.total)]
    const beyond = `the file has ${chunk} in one member and ${all} in total, which exceeds the limits of this clamd server`
    if (!coversSizes(maxProbeSizes, requiredSizes)) return beyond
    const known = this.#getKnownLimits(daemon)
    const sizes = {
      largest: Math.max(requiredSizes.largest, assumedSizes.largest, Math.ceil(requiredSizes.total / maxFillers)),
      total: Math.max(requiredSizes.total, assumedSizes.total),
    }
    // If a cached result suffices, do not wait for a running probe of another size.
    if (findCachedResult(known, sizes)) return undefined
    const answer = known.last.then(() => this.#probeRequiredSizes(daemon, known, sizes, signal))
    known.last = answer.catch(() => undefined)
    if (await rejectOnAbort(answer, signal)) return undefined
    // If even the smallest probe failed, the daemon does not find the EICAR string in any zip (`ScanArchive no`, or a database
    // without this signature). Its limits are then unknown.
    if (!findCachedResult(known, minProbeSizes))
      return `${beyond}: clamd does not unpack the zip archive that Assay uses to measure them (ScanArchive)`
    return `${beyond} (MaxFileSize, MaxScanSize)`
  }

  async #probeRequiredSizes(
    daemon: Daemon,
    knownLimits: KnownLimits,
    sizes: RequiredSizes,
    signal: AbortSignal,
  ): Promise<boolean> {
    // Probe a rounded-up size first, because its result also covers many other files.
    for (const probeSizes of [roundUpSizes(sizes), sizes])
      if (await this.#detectsProbe(daemon, knownLimits, probeSizes, signal)) return true
    await this.#detectsProbe(daemon, knownLimits, minProbeSizes, signal)
    return false
  }

  async #detectsProbe(daemon: Daemon, knownLimits: KnownLimits, sizes: RequiredSizes, signal: AbortSignal): Promise<boolean> {
    const cached = findCachedResult(knownLimits, sizes)
    if (cached !== undefined) return cached
    const answer = await this.scan(daemon, createLimitProbe(sizes.largest, sizes.total), signal)
    const isDetected = answer.verdict === 'infected' && /eicar/i.test(answer.signature)
    knownLimits.tried.push({ sizes, isDetected })
    if (knownLimits.tried.length > maxRememberedResults) knownLimits.tried.shift()
    return isDetected
  }

  #getKnownLimits(daemon: Daemon): KnownLimits {
    const now = Date.now()
    let known = this.#known.get(daemon)
    if (!known || known.until < now) {
      known = { version: known?.version ?? '', until: now + rememberedMs, tried: [], last: known?.last ?? Promise.resolve() }
      this.#known.set(daemon, known)
    }
    return known
  }
}

export const coversSizes = (limits: RequiredSizes, required: RequiredSizes) =>
  limits.largest >= required.largest && limits.total >= required.total

function findCachedResult({ tried }: KnownLimits, sizes: RequiredSizes): boolean | undefined {
  if (tried.some((each) => each.isDetected && coversSizes(each.sizes, sizes))) return true
  return tried.some((each) => !each.isDetected && coversSizes(sizes, each.sizes)) ? false : undefined
}

function roundUpSizes({ largest, total }: RequiredSizes): RequiredSizes {
  const roundUpToPowerOfTwo = (bytes: number) => 2 ** Math.ceil(Math.log2(Math.max(bytes, 8 * mebibyte)))
  const chunk = roundUpToPowerOfTwo(largest)
  return { largest: chunk, total: Math.max(2 * chunk, roundUpToPowerOfTwo(total)) }
}

const formatMegabytes = (bytes: number) => `${Math.ceil(bytes / mebibyte)} MB`
