import { createMemoryContent } from '../../../platform/spool/content.js'
import { eicar } from '../eicar.js'
import { type ClamdConnector, parseScanResponse, parseVersion } from './commands.js'
import type { Daemon } from './daemons.js'
import { ClamdFault, createNotClamdMessage } from './exchange.js'

export interface ClamdProof {
  version: string
  at: Date
}

/** Thrown if the daemon responds but does not detect the EICAR test string. */
export class EicarNotDetectedError extends ClamdFault {}

/** Time for which a successful EICAR test stays valid. */
const validityMs = 60_000

/**
 * Proves that daemons detect viruses, because a clamd without signatures reports every file as clean. A proof is valid for a
 * minute, unless a connection fails or the daemon's version changes.
 */
export class ClamdProofs {
  readonly #known = new Map<Daemon, ClamdProof>()
  readonly #running = new Map<Daemon, Promise<ClamdProof>>()

  /** Calls `onVersion` with every version that a daemon returns. */
  constructor(
    private readonly connector: ClamdConnector,
    private readonly closed: AbortSignal,
    private readonly onVersion: (daemon: Daemon, version: string) => void,
  ) {}

  /** Returns a valid proof for the daemon, and creates one if necessary. Throws `ClamdFault`, or the signal's reason. */
  async getValidProof(daemon: Daemon, signal: AbortSignal): Promise<ClamdProof> {
    const known = this.#known.get(daemon)
    if (known && Date.now() - known.at.getTime() < validityMs) return known
    return this.renewProof(daemon, signal)
  }

  /** Tests the daemon again. Concurrent callers share one test. */
  renewProof(daemon: Daemon, signal: AbortSignal): Promise<ClamdProof> {
    let running = this.#running.get(daemon)
    if (!running) {
      running = this.#testDetection(daemon).finally(() => this.#running.delete(daemon))
      this.#running.set(daemon, running)
    }
    return rejectOnAbort(running, signal)
  }

  /**
   * Confirms after a scan that the `proof` obtained before it still holds, and renews it if it has expired. Throws `ClamdFault`
   * if the daemon's version has changed.
   */
  async confirmProof(daemon: Daemon, proof: ClamdProof, signal: AbortSignal): Promise<ClamdProof> {
    const version = await this.queryVersion(daemon, signal)
    const current = version === proof.version ? await this.getValidProof(daemon, signal) : undefined
    if (current?.version === proof.version) return current
    throw new ClamdFault(`${daemon.address.label} reloaded its signatures during the scan`)
  }

  async queryVersion(daemon: Daemon, signal: AbortSignal): Promise<string> {
    const { address } = daemon
    const version = await this.connector.queryVersion(address, signal)
    if (!parseVersion(version))
      throw new ClamdFault(createNotClamdMessage(`${address.label} returned '${version.slice(0, 60)}' as its version`))
    if (this.#known.get(daemon)?.version !== version) this.forget(daemon)
    this.onVersion(daemon, version)
    return version
  }

  forget(daemon: Daemon): void {
    this.#known.delete(daemon)
  }

  async #testDetection(daemon: Daemon): Promise<ClamdProof> {
    this.forget(daemon)
    const { address } = daemon
    const at = new Date()
    const version = await this.queryVersion(daemon, this.closed)
    const answer = parseScanResponse(await this.connector.scan(address, createMemoryContent(eicar), this.closed))
    if (answer.verdict === 'error')
      throw new EicarNotDetectedError(`${address.label} returned ${answer.message} for the EICAR test string`)
    if (answer.verdict !== 'infected')
      throw new EicarNotDetectedError(
        `${address.label} does not detect the EICAR test string. Check that its signatures are loaded`,
      )
    const proof = { version, at }
    this.#known.set(daemon, proof)
    return proof
  }
}

/** Rejects with the signal's reason if the signal is aborted. The work continues, because other callers may be waiting for it. */
export function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
