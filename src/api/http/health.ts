import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { toPublicError } from '../../access/public-error.js'
import type { VirusScanner } from '../../inspection/scanners/virus-scanner.js'
import { synchronizeClock } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import type { ReadReplica } from '../../platform/db/read-replica.js'
import type { Siblings } from '../../platform/processes/siblings.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'

type Condition = { status: 'up' | 'degraded' | 'down' | 'off'; reason?: string } & Record<string, unknown>

interface RescanFailures {
  waiting: number
  abandoned: number
  reason: string | null
}

interface Dependencies {
  database: Database
  storage: BlobStorage
  spool: { assertReady(): Promise<void> }
  /** Null if no scanner is configured. The service is still ready, but rejects uploads to contexts that require virus scans. */
  scanner: VirusScanner | null
  /** Returns true if the embedded database's disk is full, in which case uploads are rejected. */
  isDiskFull: () => boolean
  /** Other processes behind the same port. Undefined if there is only one process. */
  siblings?: Siblings | undefined
  /** Returns the number of unresolved reconciliation findings. These findings do not make the service unready. */
  storageFindings: () => Promise<number>
  /** Returns the kind of SQL statements that the database rejects, or undefined if it accepts all statements. */
  findRejectedStatements: () => Promise<string | undefined>
  /** Returns how many files could not be rescanned, or undefined if there are none. */
  rescanFailures: () => Promise<RescanFailures | undefined>
  logger: Logger
}

const freshMs = 5_000
const timeoutMs = 8_000
// Maximum offset between this machine's clock and the database clock. With a larger offset, certificates and signed bucket URLs
// can appear invalid, and log timestamps are misleading.
const maxAheadMs = 5_000

/** Checks whether the service is ready. The checks call the dependencies at most once every five seconds. */
export class Health {
  readonly #checks: Record<string, () => Promise<Condition>>
  readonly #down = new Set<string>()
  #stopping = false
  #last: { at: number; answer: Promise<{ ready: boolean; checks: Record<string, Condition> }> } | undefined

  constructor(private readonly dependencies: Dependencies) {
    this.#checks = createChecks(dependencies)
  }

  /** Makes the service permanently unready, so that load balancers stop sending requests before shutdown. */
  beginShutdown(): void {
    this.#stopping = true
  }

  async checkReadiness(): Promise<{ ready: boolean; checks: Record<string, Condition> }> {
    if (this.#stopping) return { ready: false, checks: { service: { status: 'down', reason: 'the service is shutting down' } } }
    const now = performance.now()
    if (!this.#last || now - this.#last.at > freshMs) this.#last = { at: now, answer: this.#runChecks() }
    return this.#last.answer
  }

  async #runChecks() {
    const checks = Object.fromEntries(
      await Promise.all(
        Object.entries(this.#checks).map(async ([name, check]) => [name, await this.#checkCondition(name, check)] as const),
      ),
    )
    return { ready: Object.values(checks).every(({ status }) => status !== 'down'), checks }
  }

  /** Runs a check and returns its public result. Internal addresses and paths are written only to the log. */
  async #checkCondition(name: string, check: () => Promise<Condition>): Promise<Condition> {
    try {
      const condition = await withTimeout(check())
      if (condition.status === 'up' || condition.status === 'off') this.#down.delete(name)
      else this.#reportUnavailable(name, new Error(condition.reason))
      return condition
    } catch (error) {
      this.#reportUnavailable(name, error)
      const reported = toPublicError(error)
      const reason =
        error instanceof TimeoutError
          ? error.message
          : reported.code === 'internal_server_error'
            ? 'The check failed. See the log.'
            : reported.message
      return { status: 'down', reason }
    }
  }

  /** Logs the error once each time a dependency becomes unavailable. */
  #reportUnavailable(dependency: string, error: unknown): void {
    const { logger } = this.dependencies
    if (!this.#down.has(dependency)) logger.warn({ dependency, err: error }, 'A dependency is down.')
    this.#down.add(dependency)
  }
}

function createChecks(dependencies: Dependencies): Record<string, () => Promise<Condition>> {
  const { scanner, siblings, rescanFailures } = dependencies
  const { pool, replica } = dependencies.database
  return {
    database: async () => {
      await pool.query('SELECT 1')
      return { status: 'up' }
    },
    // During a database outage, this check reports `off`, because the database check already reports the outage.
    statements: () =>
      dependencies
        .findRejectedStatements()
        .then(toSelfTestCondition, () => ({ status: 'off', reason: 'The database is unavailable.' })),
    clock: () => checkClock(pool),
    storage: () => checkStorage(dependencies),
    ...(replica && { replica: () => checkReplica(replica) }),
    ...(siblings && { processes: async () => checkProcesses(siblings) }),
    scanner: () => checkScanner(scanner),
    ...(scanner && { rescan: async () => toRescanCondition(await rescanFailures()) }),
  }
}

const toSelfTestCondition = (failedKind: string | undefined): Condition =>
  failedKind === undefined
    ? { status: 'up' }
    : { status: 'down', reason: `The SQL statements for '${failedKind}' failed. See the log.` }

async function checkClock(pool: Pool): Promise<Condition> {
  const time = await synchronizeClock(pool).catch(() => undefined)
  if (!time) return { status: 'off', reason: 'The database clock cannot be read.' }
  const { aheadMs, uncertainMs } = time
  if (Math.abs(aheadMs) - uncertainMs <= maxAheadMs) return { status: 'up' }
  const seconds = `${Math.abs(aheadMs / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database clock`
  // The status is not "down", because the service uses the database's clock. If the database's clock is wrong, "down" would make
  // all replicas unready.
  return { status: 'degraded', reason: `This machine's clock is ${seconds}. Synchronize both clocks with NTP.` }
}

async function checkStorage({ storage, spool, isDiskFull, storageFindings }: Dependencies): Promise<Condition> {
  if (isDiskFull())
    return { status: 'down', reason: 'The disk is full, so uploads are rejected. Delete files, or add disk space.' }
  await Promise.all([spool.assertReady(), storage.assertReady()])
  return { status: 'up', kind: storage.kind, findings: await storageFindings().catch(() => null) }
}

/** Scans the EICAR test string. A scanner that does not detect the string is reported as down. */
async function checkScanner(scanner: VirusScanner | null): Promise<Condition> {
  if (!scanner) return { status: 'off', reason: 'No scanner is configured (SCANNER_URL=none:).' }
  await scanner.verifyDetection()
  const engine = await scanner.getIdentity()
  return {
    status: 'up',
    engine: engine.name,
    version: engine.version,
    signatures_version: engine.signaturesVersion,
    signatures_date: engine.signaturesDate?.toISOString() ?? null,
  }
}

// The status is not "down", because a file that cannot be rescanned must not take the service out of rotation.
const toRescanCondition = (failures: RescanFailures | undefined): Condition => {
  if (!failures) return { status: 'up' }
  const { waiting, abandoned, reason } = failures
  return {
    status: 'degraded',
    files_waiting_for_retry: waiting,
    files_given_up: abandoned,
    reason: `Some files could not be rescanned (${reason ?? 'see the log'}). Their reports are marked as incomplete. To retry, start a rescan of the context.`,
  }
}

// The status is not "down", because the remaining processes still serve requests.
function checkProcesses({ state: { running }, self: { count } }: Siblings): Condition {
  if (running >= count) return { status: 'up', running, of: count }
  const reason = `${count - running} of ${count} processes are not serving requests. They are being restarted.`
  return { status: 'degraded', running, of: count, reason }
}

// An unavailable replica is "degraded" and not "down", because the primary serves all reads.
const checkReplica = (replica: ReadReplica): Promise<Condition> =>
  replica.getLagMs().then(
    (ms) => ({ status: 'up', behind_seconds: Number.isFinite(ms) ? Math.round(ms / 100) / 10 : null }),
    () => ({ status: 'degraded', reason: 'The read replica is unavailable, so the primary serves all reads. See the log.' }),
  )

class TimeoutError extends Error {}

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const rejectAfterTimeout = async (): Promise<never> => {
    await delay(timeoutMs, undefined, { ref: false })
    throw new TimeoutError(`The check did not finish within ${timeoutMs / 1000} s.`)
  }
  return Promise.race([work, rejectAfterTimeout()])
}
