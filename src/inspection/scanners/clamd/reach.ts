import type { Content } from '../../../platform/spool/content.js'
import type { Needs } from '../coverage-visitor.js'
import { readAnswer } from './answer.js'
import type { Daemon } from './daemons.js'
import { ClamdFault } from './exchange.js'
import { reachProbe } from './reach-probe.js'
import { unlessAborted } from './unless-aborted.js'

const mebibyte = 1024 * 1024
// MaxFileSize and MaxScanSize are not set below this in practice; small files are not worth a probe.
const believed: Needs = { largest: mebibyte, total: 4 * mebibyte }
// ClamAV takes no file beyond 2 GB, whatever its settings; a probe of 8 GiB keeps it busy for half a minute already.
const provable: Needs = { largest: 2 * 1024 * mebibyte, total: 8 * 1024 * mebibyte }
// A probe of thousands of small members would cost us more than it tells: no settings allow so much in all and so little in one chunk.
const maxFillers = 512
// Limits change with a restart of the daemon, which need not show in its version.
const rememberedMs = 30 * 60_000
const maxRememberedResults = 64
const measurable: Needs = { largest: 64 * 1024, total: 128 * 1024 }

interface Knowledge {
  version: string
  until: number
  tried: { needs: Needs; seen: boolean }[]
  /** One probe at a time: the next scan mostly finds its answer in what the first one learned. */
  last: Promise<unknown>
}

type Send = (daemon: Daemon, probe: Content, signal: AbortSignal) => Promise<string>

/**
 * clamd reports OK for data beyond its MaxFileSize and MaxScanSize, and offers no way to read these limits. Therefore it must detect the
 * EICAR test string at the end of a probe that unpacks to the required size. The result is cached.
 */
export class ClamdReach {
  readonly #send: Send
  readonly #known = new Map<Daemon, Knowledge>()

  constructor(send: Send) {
    this.#send = send
  }

  knows(daemon: Daemon, version: string): void {
    const known = this.#of(daemon)
    if (known.version && known.version !== version) known.tried.length = 0
    known.version = version
  }

  /** The daemon was away: the next one there may have other limits. */
  forget(daemon: Daemon): void {
    this.#of(daemon).tried.length = 0
  }

  /** The reason if the daemon has not proved that it scans content of these sizes, and that it unpacks members if it must. */
  async check(
    daemon: Daemon,
    { needs, unpacks }: { needs: Needs; unpacks: boolean },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!unpacks && covers(believed, needs)) return undefined
    const [chunk, all] = [inMegabytes(needs.largest), inMegabytes(needs.total)]
    const beyond = `it has ${chunk} in one member and ${all} in total, which this clamd does not scan`
    if (!covers(provable, needs)) return beyond
    const known = this.#of(daemon)
    const asked = {
      largest: Math.max(needs.largest, believed.largest, Math.ceil(needs.total / maxFillers)),
      total: Math.max(needs.total, believed.total),
    }
    // A known result does not wait for a probe of another size.
    if (findKnownResult(known, asked)) return undefined
    const answer = known.last.then(() => this.#find(daemon, known, asked, signal))
    known.last = answer.catch(() => undefined)
    if (await unlessAborted(answer, signal)) return undefined
    // A daemon that finds the string in no zip at all (ScanArchive no, signatures without EICAR) has proved nothing about its limits.
    if (!findKnownResult(known, measurable))
      return `${beyond}: it does not unpack the zip archive that measures its limits (ScanArchive)`
    return `${beyond} (MaxFileSize, MaxScanSize)`
  }

  async #find(daemon: Daemon, known: Knowledge, needs: Needs, signal: AbortSignal): Promise<boolean> {
    // First a rounder figure, which will answer for many other files as well.
    for (const asked of [roundUp(needs), needs]) if (await this.#looks(daemon, known, asked, signal)) return true
    await this.#looks(daemon, known, measurable, signal)
    return false
  }

  async #looks(daemon: Daemon, known: Knowledge, asked: Needs, signal: AbortSignal): Promise<boolean> {
    const cached = findKnownResult(known, asked)
    if (cached !== undefined) return cached
    const answer = readAnswer(await this.#send(daemon, await reachProbe(asked.largest, asked.total), signal))
    if (answer.kind === 'error') throw new ClamdFault(`${daemon.address.label} returned ${answer.message}`)
    const seen = answer.kind === 'infected' && /eicar/i.test(answer.signature)
    known.tried.push({ needs: asked, seen })
    if (known.tried.length > maxRememberedResults) known.tried.shift()
    return seen
  }

  #of(daemon: Daemon): Knowledge {
    const now = Date.now()
    let known = this.#known.get(daemon)
    if (!known || known.until < now) {
      known = { version: known?.version ?? '', until: now + rememberedMs, tried: [], last: known?.last ?? Promise.resolve() }
      this.#known.set(daemon, known)
    }
    return known
  }
}

export const covers = (far: Needs, near: Needs) => far.largest >= near.largest && far.total >= near.total

function findKnownResult({ tried }: Knowledge, needs: Needs): boolean | undefined {
  if (tried.some((each) => each.seen && covers(each.needs, needs))) return true
  return tried.some((each) => !each.seen && covers(needs, each.needs)) ? false : undefined
}

function roundUp({ largest, total }: Needs): Needs {
  const power = (bytes: number) => 2 ** Math.ceil(Math.log2(Math.max(bytes, 8 * mebibyte)))
  const chunk = power(largest)
  return { largest: chunk, total: Math.max(2 * chunk, power(total)) }
}

const inMegabytes = (bytes: number) => `${Math.ceil(bytes / mebibyte)} MB`
