import { getSignatures, type Signatures, type VirusScanner } from '../../inspection/scanners/virus-scanner.js'
import type { Actor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { isLeaseFree } from '../../platform/db/lease.js'
import { detectLostCommit } from '../../platform/db/sql-errors.js'
import { notFound, scannerUnavailable } from '../../platform/errors/errors.js'
import type { ServiceEvents } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { FileContext } from '../contexts/context.types.js'
import type { RescanProgress } from './rescan.types.js'

const stateKey = 'rescan'
/** Number of signature versions to remember. A version that is no longer remembered counts as new. */
const maxRemembered = 100

/** Starts rescans and reports their progress. `Rescanner` scans the files. */
export class RescanService {
  /** The promise `scanner` is pending while the services are created. CLI commands start no rescans and pass undefined. */
  constructor(
    private readonly parts: {
      db: Database
      contexts: FileContextService
      serviceEvents: ServiceEvents
      scanner: Promise<Pick<VirusScanner, 'getIdentity'>> | undefined
    },
  ) {}

  /** Returns the scanner's current signatures. Throws 503 if the scanner is unavailable or not configured. */
  async getScannerSignatures(): Promise<Signatures> {
    const identity = await (await this.parts.scanner)?.getIdentity()
    if (!identity || identity.name === 'none')
      throw scannerUnavailable('No scanner is configured, so files cannot be rescanned. Set SCANNER_URL.')
    return { signatures: getSignatures(identity), madeAt: identity.signaturesDate }
  }

  /**
   * Starts a rescan of a context and returns its progress. If a rescan with the same signatures is already in progress, that
   * rescan continues.
   */
  async startRescan(actor: Actor, contextKey: string): Promise<RescanProgress> {
    const context = await this.parts.contexts.get(actor, contextKey)
    if (context.scanForViruses) {
      const { signatures } = await this.getScannerSignatures()
      await detectLostCommit(this.parts.db.pool.query(beginning, [actor.tenantId, context.contextId, signatures]))
      this.parts.serviceEvents.emit('rescanRequested')
    }
    return this.#findProgress(context)
  }

  async getProgress(actor: Actor, contextKey: string): Promise<RescanProgress> {
    return this.#findProgress(await this.parts.contexts.get(actor, contextKey))
  }

  async getProgressByContextIds(tenantId: string, contextIds: readonly string[]): Promise<Map<string, RescanProgress>> {
    const { rows } = await this.parts.db.pool.query<RescanProgress & { contextId: string }>({
      name: 'rescans',
      text: progressStatement,
      values: [tenantId, contextIds],
    })
    return new Map(rows.map(({ contextId, ...progress }) => [contextId, progress]))
  }

  /** Starts rescans in all contexts that need one with these signatures, unless another replica has seen newer signatures. */
  async startDueRescans(current: Signatures): Promise<void> {
    const newest = await this.#updateNewestSignatures(current)
    if (newest !== current.signatures) return
    const { rows } = await this.parts.db.pool.query<{ tenant_id: string }>(tenantsToBegin, [newest])
    for (const { tenant_id: tenantId } of rows) await this.parts.db.pool.query(beginningEverywhere, [tenantId, newest])
  }

  /**
   * Returns the newest signatures that any replica has seen. Restored files without a report for these signatures are quarantined
   * until they are scanned. Null means that no scanner is configured.
   */
  async getNewestSignatures(): Promise<string | null> {
    const identity = await (await this.parts.scanner)?.getIdentity().catch(() => undefined)
    if (identity?.name === 'none') return null
    const current = identity && { signatures: getSignatures(identity), madeAt: identity.signaturesDate }
    return (await this.#updateNewestSignatures(current)) ?? 'unknown'
  }

  /** Returns true if no replica has seen newer signatures. */
  async isNewest(signatures: string): Promise<boolean> {
    return (await this.#updateNewestSignatures(undefined)) === signatures
  }

  async #updateNewestSignatures(current: Signatures | undefined): Promise<string | undefined> {
    const known = await this.parts.db.pool.query<{ latest: string }>(
      `SELECT ${latest} AS latest FROM service_state WHERE key = $1`,
      [stateKey],
    )
    if (!current || known.rows[0]?.latest === current.signatures) return known.rows[0]?.latest
    const { rows } = await this.parts.db.pool.query<{ latest: string }>(noticing, [
      stateKey,
      current.signatures,
      maxRemembered,
      current.madeAt,
    ])
    const { latest: newest } = rows[0]!
    // Reset the attempt counts of files whose scans failed, because new attempts may succeed with the new signatures.
    if (newest === current.signatures) await this.#resetAttempts()
    return newest
  }

  async #resetAttempts(): Promise<void> {
    const { rows } = await this.parts.db.pool.query<{ tenant_id: string }>(
      'SELECT DISTINCT tenant_id FROM rescan_queue WHERE attempts > 0',
    )
    for (const { tenant_id: tenantId } of rows)
      await this.parts.db.pool.query(
        `UPDATE rescan_queue SET attempts = 0, failure = NULL
         WHERE tenant_id = $1 AND attempts > 0 AND (lease_token IS NULL OR ${isLeaseFree})`,
        [tenantId],
      )
  }

  /**
   * Returns the number of files, across all tenants, whose scan failed in the current rescans. Returns undefined if no scan
   * failed.
   */
  async getFailureSummary(): Promise<{ waiting: number; abandoned: number; reason: string | null } | undefined> {
    const { rows } = await this.parts.db.pool.query<{ waiting: number; abandoned: number; reason: string | null }>(
      `SELECT q.files AS waiting, w.files AS abandoned, coalesce(q.failure, w.failure) AS reason
       FROM (SELECT count(*)::int AS files, max(failure) AS failure FROM rescan_queue WHERE failure IS NOT NULL) q,
         (SELECT coalesce(sum(failed), 0)::int AS files, max(failure) AS failure FROM rescans WHERE failed > 0) w`,
    )
    const { waiting, abandoned } = rows[0]!
    return waiting + abandoned > 0 ? rows[0] : undefined
  }

  async getCounts(): Promise<{ contextsInProgress: number; filesQuarantined: number }> {
    const { rows } = await this.parts.db.pool.query<{ contextsInProgress: number; filesQuarantined: number }>(
      `SELECT (SELECT count(*) FROM rescans WHERE finished_at IS NULL)::int AS "contextsInProgress", (SELECT count(*) FROM quarantine)::int AS "filesQuarantined"`,
    )
    return rows[0]!
  }

  async #findProgress({ tenantId, contextId, contextKey }: FileContext): Promise<RescanProgress> {
    const progress = (await this.getProgressByContextIds(tenantId, [contextId])).get(contextId)
    if (!progress) throw notFound('context', contextKey)
    return progress
  }
}

// The total of a finished rescan excludes files that were deleted during the rescan.
const progressStatement = `
SELECT c.context_id AS "contextId", c.context_key AS "contextKey", w.signatures,
  CASE WHEN NOT c.scan_for_viruses THEN 'off' WHEN w.started_at IS NULL THEN 'none' WHEN w.finished_at IS NOT NULL THEN 'finished'
    WHEN w.paused_at IS NOT NULL THEN 'paused' ELSE 'running' END AS status,
  coalesce(CASE WHEN w.finished_at IS NULL THEN greatest(w.files, w.passed) ELSE w.passed END, 0)::bigint AS files,
  coalesce(w.passed, 0)::bigint AS "filesDone", coalesce(w.scanned, 0)::bigint AS "filesScanned", coalesce(w.bytes, 0)::bigint AS "bytesScanned",
  coalesce(w.infected, 0)::bigint AS "filesQuarantined", coalesce(w.failed, 0)::bigint AS "filesFailed", w.started_at AS "startedAt", w.finished_at AS "finishedAt"
FROM file_contexts c LEFT JOIN rescans w ON w.tenant_id = $1 AND w.context_id = c.context_id
WHERE c.tenant_id = $1 AND c.context_id = ANY ($2)`

const afresh = `signatures = excluded.signatures, asked = excluded.asked, started_at = excluded.started_at, finished_at = NULL, paused_at = NULL, taken_at = excluded.taken_at,
  top_id = '', before_id = NULL, until_id = '', walked = false, settled = false, files = excluded.files, passed = 0, scanned = 0, bytes = 0, infected = 0, failed = 0, failure = NULL`

const beginning = `
INSERT INTO rescans AS w (tenant_id, context_id, signatures, asked, started_at, taken_at, files)
SELECT $1, $2, $3, true, now(), to_timestamp(0), coalesce((SELECT files FROM file_totals WHERE tenant_id = $1 AND context_id = $2), 0)
ON CONFLICT (tenant_id, context_id) DO UPDATE SET ${afresh} WHERE w.finished_at IS NOT NULL OR w.signatures <> excluded.signatures`

// A rescan in progress is restarted with new signatures even if the policy disables automatic rescans, because an admin may have
// requested it.
const buildNeedsRescanCondition = (signatures: string) =>
  `c.scan_for_viruses AND (c.rescan OR o.finished_at IS NULL AND o.signatures IS NOT NULL) AND o.signatures IS DISTINCT FROM ${signatures}`

const tenantsToBegin = `
SELECT DISTINCT t.tenant_id FROM file_totals t JOIN file_contexts c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
  LEFT JOIN rescans o ON o.tenant_id = t.tenant_id AND o.context_id = t.context_id WHERE ${buildNeedsRescanCondition('$1')}`

const beginningEverywhere = `
INSERT INTO rescans AS w (tenant_id, context_id, signatures, asked, started_at, taken_at, files)
SELECT $1, c.context_id, $2, false, now(), now(), t.files FROM file_contexts c JOIN file_totals t ON t.tenant_id = $1 AND t.context_id = c.context_id
  LEFT JOIN rescans o ON o.tenant_id = $1 AND o.context_id = c.context_id
WHERE c.tenant_id = $1 AND ${buildNeedsRescanCondition('$2')}
ON CONFLICT (tenant_id, context_id) DO UPDATE SET ${afresh} WHERE w.signatures <> excluded.signatures`

const latest = `value->-1->>'signatures'`

// Locks the row, so that only one replica adds new signatures. Signatures from outdated scanners are ignored.
const noticing = `
INSERT INTO service_state AS s (key, value, updated_at) VALUES ($1, jsonb_build_array(jsonb_build_object('signatures', $2::text, 'made_at', $4::timestamptz)), now())
ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at, value = CASE
  WHEN s.value @> jsonb_build_array(jsonb_build_object('signatures', $2::text)) THEN s.value
  -- Dates are comparable only within one engine: YARA rules may be older than the ClamAV signatures that they replace.
  WHEN split_part(s.value->-1->>'signatures', ' ', 1) = split_part($2, ' ', 1) AND (s.value->-1->>'made_at')::timestamptz > $4 THEN s.value
  ELSE (CASE WHEN jsonb_array_length(s.value) >= $3 THEN s.value - 0 ELSE s.value END) || excluded.value END
RETURNING ${latest} AS latest`
