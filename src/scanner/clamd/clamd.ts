import type { Content } from '../../body/content.js'
import { AssayError, scannerUnavailable } from '../../errors.js'
import { eicar } from '../eicar.js'
import type { ScannerLogger } from '../logger.js'
import { memoryContent } from '../memory-content.js'
import { scanCoverage } from '../scan-coverage.js'
import type { EngineIdentity, ScanVerdict, VirusScanner } from '../virus-scanner.js'
import type { ClamdAddress } from './address.js'
import { type ClamdAnswer, readAnswer, readVersion } from './answer.js'
import { askClamd, sendToClamd } from './commands.js'
import { type Daemon, Daemons } from './daemons.js'
import { type ClamdDeadlines, ClamdFault } from './exchange.js'
import { ClamdReach } from './reach.js'

export interface ClamdOptions {
  /** Connections per daemon; clamd's own MaxThreads is 10. */
  connections?: number
  /** How many scans may wait for a connection, and how long. */
  waiting?: { most: number; ms: number }
  deadlines?: Partial<ClamdDeadlines>
  /** False: believe that the daemons' limits are beyond any upload. True (the default): have them prove it. */
  proveReach?: boolean
  logger?: ScannerLogger
}

const patience: ClamdDeadlines = { connectMs: 2_000, idleMs: 15_000, answerMs: 130_000, overallMs: 300_000 }
const question: ClamdDeadlines = { connectMs: 2_000, idleMs: 5_000, answerMs: 5_000, overallMs: 5_000 }
/** For so long a daemon whose line failed is asked only when no other is left. */
const restMs = 5_000
const identityMs = 60_000

/** One or more clamd, asked by INSTREAM. Any doubt about whether a file was looked at is `scannerUnavailable`, never a verdict. */
export class ClamdScanner implements VirusScanner {
  readonly #daemons: Daemons
  readonly #deadlines: ClamdDeadlines
  readonly #reach: ClamdReach | undefined
  readonly #logger: ScannerLogger | undefined
  readonly #running = new Set<AbortController>()
  #closed = false
  #known: { identity: Promise<EngineIdentity>; until: number } | undefined

  constructor(addresses: ClamdAddress[], options: ClamdOptions = {}) {
    this.#daemons = new Daemons(addresses, options.connections ?? 8, options.waiting ?? { most: 512, ms: 30_000 })
    this.#deadlines = { ...patience, ...options.deadlines }
    this.#logger = options.logger
    if (options.proveReach ?? true) {
      this.#reach = new ClamdReach((daemon, probe, signal) => sendToClamd(daemon.address, probe, this.#deadlines, signal))
    }
  }

  async scan(content: Content, options: { signal: AbortSignal }): Promise<ScanVerdict> {
    return this.#untilClosed(options.signal, (signal) =>
      this.#withDaemon(signal, async (daemon) => {
        const answer = readAnswer(await sendToClamd(daemon.address, content, this.#deadlines, signal))
        return answer.kind === 'clean' ? this.#lookedAtAll(daemon, content, signal) : verdictOf(answer, daemon)
      }),
    )
  }

  identity(): Promise<EngineIdentity> {
    const now = Date.now()
    if (this.#known && this.#known.until > now) return this.#known.identity
    const identity = this.#askIdentity()
    this.#known = { identity, until: now + identityMs }
    identity.catch(() => {
      this.#known = undefined
    })
    return identity
  }

  /** Every daemon that answers must find the string, and one must answer. */
  async prove(): Promise<void> {
    const answers = await this.#askAll(async ({ address }, signal) => {
      const answer = readAnswer(await sendToClamd(address, memoryContent(eicar), question, signal))
      return { label: address.label, answer }
    })
    const blind = answers.find(({ answer }) => answer.kind !== 'infected')
    if (!blind) return
    throw scannerUnavailable(
      blind.answer.kind === 'error'
        ? `${blind.label} gave ${blind.answer.message} when asked about the EICAR test string.`
        : `${blind.label} does not find the EICAR test string: are its signatures loaded?`,
    )
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const running of this.#running) running.abort(closing())
  }

  // Not AbortSignal.any: on a signal as old as the process Node 20 keeps a trace of every one derived from it.
  async #untilClosed<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed) throw closing()
    signal?.throwIfAborted()
    const running = new AbortController()
    const aborted = () => running.abort(signal?.reason)
    signal?.addEventListener('abort', aborted, { once: true })
    this.#running.add(running)
    try {
      return await work(running.signal)
    } finally {
      this.#running.delete(running)
      signal?.removeEventListener('abort', aborted)
    }
  }

  /** clamd answers OK for what its limits or a password kept it from: what can be known of that, we find out ourselves. */
  async #lookedAtAll(daemon: Daemon, content: Content, signal: AbortSignal): Promise<ScanVerdict> {
    const blind = await scanCoverage(content)
    const reach = blind.incomplete ? undefined : await this.#reach?.check(daemon, blind.needs, signal)
    const reason = blind.incomplete ?? reach?.incomplete
    if (reason) return { verdict: 'incomplete', reason }
    const note = [blind.note, reach?.note].filter((each) => each !== undefined).join('; ')
    return note ? { verdict: 'clean', note } : { verdict: 'clean' }
  }

  /** Asks the least busy daemon, then the others: the content can be opened again, so a second try is a whole one. */
  async #withDaemon<T>(signal: AbortSignal, ask: (daemon: Daemon) => Promise<T>): Promise<T> {
    const tried = new Set<Daemon>()
    const count = this.#daemons.all.length
    let fault: ClamdFault | undefined
    // A lone daemon is asked twice: it may just have been started anew.
    for (let attempt = 0; attempt < Math.max(2, count) && !(fault?.mute && count === 1); attempt++) {
      const daemon = await this.#daemons.acquire(count === 1 ? new Set() : tried, signal)
      try {
        return await ask(daemon)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof AssayError) throw error
        if (!(error instanceof ClamdFault)) throw scannerUnavailable('The content could not be read again to be scanned.', error)
        fault = error
        tried.add(daemon)
        daemon.restingUntil = Date.now() + restMs
        // Whoever listens there next may have been started with other limits.
        if (fault.line === 'refused') this.#reach?.forget(daemon)
        this.#logger?.warn({ clamd: daemon.address.label, err: error }, 'clamd did not scan a file')
      } finally {
        this.#daemons.release(daemon)
      }
    }
    throw scannerUnavailable(`The file could not be scanned: ${fault?.message ?? 'no clamd answers'}.`, fault)
  }

  // Several daemons are as good as the worst of them: the one with the oldest signatures speaks for all.
  async #askIdentity(): Promise<EngineIdentity> {
    const identities = await this.#askAll(async (daemon, signal) => {
      const { address } = daemon
      const line = await askClamd(address, 'VERSION', question, signal)
      const identity = readVersion(line)
      if (!identity) throw new ClamdFault(`${address.label} gave '${line.slice(0, 60)}' as its version: it is no clamd`)
      this.#reach?.knows(daemon, line)
      return identity
    })
    const age = ({ signaturesDate }: EngineIdentity) => signaturesDate?.getTime() ?? 0
    return identities.reduce((oldest, each) => (age(each) < age(oldest) ? each : oldest))
  }

  /** The answers of those that answer; throws where none does. */
  async #askAll<T>(ask: (daemon: Daemon, signal: AbortSignal) => Promise<T>): Promise<T[]> {
    const settled = await this.#untilClosed(undefined, (signal) =>
      Promise.allSettled(this.#daemons.all.map((daemon) => ask(daemon, signal))),
    )
    const answers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    if (answers.length > 0) return answers
    const reasons = settled.flatMap((each) => (each.status === 'rejected' ? [String(each.reason?.message ?? each.reason)] : []))
    throw scannerUnavailable(`No clamd answers: ${reasons.join('; ')}.`)
  }
}

const closing = () => scannerUnavailable('The scanner is being closed.')

function verdictOf(answer: Exclude<ClamdAnswer, { kind: 'clean' }>, daemon: Daemon): ScanVerdict {
  if (answer.kind === 'infected') return { verdict: 'infected', signature: answer.signature }
  if (answer.kind === 'incomplete') return { verdict: 'incomplete', reason: answer.reason }
  throw new ClamdFault(`${daemon.address.label} gave ${answer.message}`)
}
