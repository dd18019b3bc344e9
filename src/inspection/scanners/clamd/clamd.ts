import { tmpdir } from 'node:os'
import { AssayError, scannerUnavailable } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import { background } from '../../workers/fair-queue.js'
import type { WorkerPool } from '../../workers/worker-pool.js'
import type { RequiredSizes } from '../scan-coverage.js'
import type { ScanVerdict, UnverifiedVerdict } from '../verdict.js'
import type { EngineIdentity, ScannerLogger, ScanOptions, VirusScanner } from '../virus-scanner.js'
import { type ClamdConnector, createSocketConnector, parseScanResponse, parseVersion } from './commands.js'
import { type Daemon, Daemons } from './daemons.js'
import { type ClamdAddress, type ClamdDeadlines, ClamdFault } from './exchange.js'
import { ClamdLimits, coversSizes } from './limits.js'
import { ClamdProofs, EicarNotDetectedError } from './proof.js'
import { type PartScanner, scanUnpacked } from './unpacked-scan.js'

export interface ClamdOptions {
  /** Maximum number of connections per daemon. The default MaxThreads of clamd is 10. */
  connections?: number
  waiting?: { maxRequests: number; ms: number }
  deadlines?: Partial<ClamdDeadlines>
  /** Known size limits of the daemons. If unset, the scanner probes the limits of each daemon. */
  declared?: RequiredSizes
  /** Replaces the socket connection, for example with ClamAV's command-line program. */
  connector?: ClamdConnector
  pool?: WorkerPool | undefined
  /** Folder for content that is unpacked for the daemon. Defaults to the system's temporary folder. */
  directory?: string | undefined
  logger?: ScannerLogger | undefined
}

const defaultDeadlines: ClamdDeadlines = { connectMs: 2_000, idleMs: 15_000, answerMs: 130_000, overallMs: 300_000 }
const unhealthyMs = 5_000
const identityMs = 60_000

/** Scans files with clamd daemons (INSTREAM). A scan throws `scannerUnavailable` if no daemon verifiably scanned the file. */
export class ClamdScanner implements VirusScanner {
  readonly #daemons: Daemons
  readonly #connector: ClamdConnector
  readonly #limits: ClamdLimits
  readonly #proofs: ClamdProofs
  readonly #running = new Set<AbortController>()
  readonly #closed = new AbortController()
  readonly #versions = new Map<Daemon, string>()
  #known: { identity: Promise<EngineIdentity>; until: number } | undefined

  constructor(
    addresses: ClamdAddress[],
    private readonly options: ClamdOptions = {},
  ) {
    this.#daemons = new Daemons(addresses, options.connections ?? 8, options.waiting ?? { maxRequests: 512, ms: 30_000 })
    this.#connector = options.connector ?? createSocketConnector({ ...defaultDeadlines, ...options.deadlines })
    this.#limits = new ClamdLimits((daemon, probe, signal) => this.#scanContent(daemon, probe, signal))
    this.#proofs = new ClamdProofs(this.#connector, this.#closed.signal, (daemon, version) => {
      this.#limits.setVersion(daemon, version)
      // A different version means that the daemon has loaded new signatures, so the cached identity is outdated.
      if (this.#versions.has(daemon) && this.#versions.get(daemon) !== version) this.#known = undefined
      this.#versions.set(daemon, version)
    })
  }

  async scan(content: Content, { signal: callerSignal, owner }: ScanOptions): Promise<ScanVerdict> {
    return this.#runUntilClosed(callerSignal, (signal) =>
      this.#withDaemon({ signal, owner }, async (daemon) => {
        const proof = await this.#proofs.getValidProof(daemon, signal)
        const whole = await this.#scanContent(daemon, content, signal)
        if (whole.verdict !== 'clean') return { ...whole, provedAt: proof.at }
        const { directory = tmpdir(), pool } = this.options
        const verdict = await scanUnpacked(content, this.#createPartScanner(daemon, signal), { directory, pool, signal, owner })
        if (verdict.verdict !== 'clean') return { ...verdict, provedAt: proof.at }
        const { at } = await this.#proofs.confirmProof(daemon, proof, signal)
        return { ...verdict, provedAt: at }
      }),
    )
  }

  getIdentity(): Promise<EngineIdentity> {
    const now = Date.now()
    if (this.#known && this.#known.until > now) return this.#known.identity
    const identity = this.#queryIdentity()
    this.#known = { identity, until: now + identityMs }
    identity.catch(() => {
      this.#known = undefined
    })
    return identity
  }

  async verifyDetection(): Promise<void> {
    const { errors } = await this.#queryAll((daemon, signal) => this.#proofs.renewProof(daemon, signal))
    const unproved = errors.find((error) => error instanceof EicarNotDetectedError)
    if (unproved) throw scannerUnavailable(unprovedMessage, unproved)
  }

  async close(): Promise<void> {
    this.#closed.abort(createClosingError())
    for (const running of this.#running) running.abort(createClosingError())
  }

  // AbortSignal.any is not used, because it leaks memory in Node.js 20 if a signal is long-lived.
  async #runUntilClosed<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed.signal.aborted) throw createClosingError()
    signal?.throwIfAborted()
    const running = new AbortController()
    const onAbort = () => running.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#running.add(running)
    try {
      return await work(running.signal)
    } finally {
      this.#running.delete(running)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async #scanContent(daemon: Daemon, content: Content, signal: AbortSignal): Promise<UnverifiedVerdict> {
    const answer = parseScanResponse(await this.#connector.scan(daemon.address, content, signal))
    if (answer.verdict === 'error') throw new ClamdFault(`${daemon.address.label} returned ${answer.message}`)
    return answer
  }

  #createPartScanner(daemon: Daemon, signal: AbortSignal): PartScanner {
    return {
      scan: (content) => this.#scanContent(daemon, content, signal),
      exceeds: async (needs, unpacks) => {
        const { declared } = this.options
        if (declared) return coversSizes(declared, needs) ? undefined : "the file exceeds ClamAV's size limits"
        return this.#limits.findLimitProblem(daemon, { requiredSizes: needs, mustUnpack: unpacks }, signal)
      },
    }
  }

  /** Uses the least busy daemon, and tries the others if it fails. Every attempt reads the content from the start. */
  async #withDaemon<T>({ signal, owner }: ScanOptions, query: (daemon: Daemon) => Promise<T>): Promise<T> {
    const tried = new Set<Daemon>()
    const count = this.#daemons.all.length
    let fault: ClamdFault | undefined
    // A single daemon is tried twice, because it may just have been restarted.
    for (let attempt = 0; attempt < Math.max(2, count) && !(fault?.isUnresponsive && count === 1); attempt++) {
      const daemon = await this.#daemons.acquire(count === 1 ? new Set() : tried, signal, owner === background)
      try {
        return await query(daemon)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof AssayError) throw error
        if (!(error instanceof ClamdFault))
          throw scannerUnavailable('The file content could not be read again for the scan.', error)
        fault = error
        tried.add(daemon)
        daemon.unhealthyUntil = Date.now() + unhealthyMs
        this.#proofs.forget(daemon)
        // A refused connection may mean that the daemon was restarted, possibly with different limits.
        if (fault.line === 'refused') this.#limits.forget(daemon)
        this.options.logger?.warn({ clamd: daemon.address.label, err: error }, 'clamd could not scan a file')
      } finally {
        this.#daemons.release(daemon)
      }
    }
    throw scannerUnavailable('The file could not be scanned: no clamd server is responding correctly. Retry later.', fault)
  }

  // Returns the identity of the daemon with the oldest signatures, because any daemon may scan a file.
  async #queryIdentity(): Promise<EngineIdentity> {
    const { results } = await this.#queryAll((daemon, signal) => this.#proofs.queryVersion(daemon, signal))
    const identities = results.flatMap((version) => parseVersion(version) ?? [])
    const getSignatureAge = ({ signaturesDate }: EngineIdentity) => signaturesDate?.getTime() ?? 0
    return identities.reduce((oldest, each) => (getSignatureAge(each) < getSignatureAge(oldest) ? each : oldest))
  }

  /** Queries all daemons. Throws if none of them responds. */
  async #queryAll<T>(query: (daemon: Daemon, signal: AbortSignal) => Promise<T>): Promise<{ results: T[]; errors: Error[] }> {
    const settled = await this.#runUntilClosed(undefined, (signal) =>
      Promise.allSettled(this.#daemons.all.map((daemon) => query(daemon, signal))),
    )
    const results = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
    if (results.length > 0) return { results, errors }
    // Clients must not see the addresses or responses of the daemons, so only the logged cause contains them.
    throw scannerUnavailable(
      errors.some((error) => error instanceof EicarNotDetectedError) ? unprovedMessage : 'No clamd server is responding.',
      new Error(errors.map(({ message }) => message).join('; ')),
    )
  }
}

const unprovedMessage = 'A clamd server does not detect the EICAR test string.'

const createClosingError = () => scannerUnavailable('The scanner is shutting down. Retry later.')
