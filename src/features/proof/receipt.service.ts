import { type Receipt, signReceipt } from '@assay/proofs'
import type { Attempt } from '../../access/admission.js'
import { parseKeyPair } from '../../access/signing-secrets.js'
import type { EngineIdentity } from '../../inspection/scanners/virus-scanner.js'
import { now } from '../../platform/clock.js'
import { invalidField, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId } from '../../platform/ids.js'
import type { CallLogService } from '../call-logs/call-log.service.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { LogService } from './log.service.js'

interface Dependencies extends Pick<Components, 'db' | 'identity'> {
  log: LogService
  contexts: FileContextService
  callLogs: CallLogService
  publicUrl: string
}

/** A verdict on a file, as recorded in the journal, with the check results. */
interface Verdict {
  subject: string
  index: number
  type: 'file.accepted' | 'file.rejected'
  contextKey: string | null
  entry: string
  leaf: Buffer
  checks: { checks: Receipt['checks']; engine: EngineIdentity | null } | null
}

/** Issues receipts from the journal, so that they remain available after the file is deleted. */
export class ReceiptService {
  constructor(private readonly parts: Dependencies) {}

  async issue(
    attempt: Attempt,
    { fileId, callId }: { fileId?: string | null; callId?: string | null },
  ): Promise<{ receipt: string }> {
    if (fileId && callId) throw invalidField('callId', 'must not be combined with `fileId`')
    if (fileId) return this.#issueReceipt(attempt, 'file', fileId)
    if (callId) return this.#issueReceipt(attempt, 'call', callId)
    throw invalidField('fileId', 'is required unless `callId` is specified')
  }

  async #issueReceipt(attempt: Attempt, kind: 'file' | 'call', id: string): Promise<{ receipt: string }> {
    const { tenantId } = attempt.actor
    // Rejected uploads of dashboard users have no call log row, so their receipts are requested by event ID.
    const isKnown = isId(kind, id) || (kind === 'call' && isId('evt', id))
    const verdict = isKnown ? await this.#findVerdict(attempt, kind, id) : undefined
    if (!verdict || !(await this.#authorizeAndSetTarget(attempt, verdict))) throw notFound(kind, id)
    // Create the checkpoint after reading the entry, so that it covers the entry.
    const { origin, size, note } = await this.parts.log.createCheckpoint(tenantId)
    const proof = await this.parts.log.getInclusionProof(tenantId, verdict.index, size)
    const key = await this.parts.identity.signing.receipt.getCurrentKey()
    const log = {
      origin,
      index: verdict.index,
      entry: verdict.entry,
      leaf: verdict.leaf.toString('base64'),
      checkpoint: note,
      proof: proof.map((hash) => hash.toString('base64')),
    }
    const receipt = { iss: this.parts.publicUrl, iat: Math.floor(now() / 1000), tenant_id: tenantId, ...toClaims(verdict), log }
    return { receipt: await signReceipt(receipt, { id: key.id, privateKey: parseKeyPair(key).privateKey }) }
  }

  async #findVerdict(attempt: Attempt, kind: 'file' | 'call', id: string): Promise<Verdict | undefined> {
    const { tenantId } = attempt.actor
    const { rows } = await this.parts.db.pool.query<Verdict>({
      name: 'log-verdict',
      text: `SELECT subject, sequence - 1 AS index, type, context_key AS "contextKey", entry, leaf, checks FROM journal
        WHERE tenant_id = $1 AND subject = $2 AND type IN ('file.accepted', 'file.rejected')`,
      values: [tenantId, id],
    })
    if (rows[0] || kind === 'file') return rows[0]
    const { operation, status, fileId } = await this.parts.callLogs.get(attempt.actor, id)
    return operation === 'upload' && status === 'success' && fileId ? this.#findVerdict(attempt, 'file', fileId) : undefined
  }

  /** Sets the call's target. Returns false if the actor has no access to the context of the verdict. */
  async #authorizeAndSetTarget(attempt: Attempt, { subject, type, contextKey }: Verdict): Promise<boolean> {
    const { actor } = attempt
    const context = contextKey === null ? undefined : await this.parts.contexts.find(actor, contextKey)
    // Once a context is deleted, only actors without context restrictions can access its verdicts.
    if (!context && actor.contexts) return false
    attempt.setTarget({ ...(type === 'file.accepted' && { fileId: subject }), ...(context && { context }) })
    return true
  }
}

function toClaims({ subject, type, entry, checks }: Verdict) {
  const { data } = JSON.parse(entry) as { data: Record<string, unknown> }
  const getTextField = (name: string): string | null => (typeof data[name] === 'string' ? data[name] : null)
  const getNumberField = (name: string): number | null => (typeof data[name] === 'number' ? data[name] : null)
  const linkId = getTextField('upload_link_id')
  return {
    sub: subject,
    filename: getTextField('original_filename'),
    size_bytes: getNumberField('size_bytes'),
    sha256: getTextField('checksum')?.replace(/^sha256:/, '') ?? null,
    context_key: getTextField('context_key'),
    rules_version: getNumberField('rules_version'),
    outcome: type === 'file.accepted' ? ('accepted' as const) : ('rejected' as const),
    reason: getTextField('reason'),
    checks: checks?.checks ?? [],
    engine: checks?.engine ? toEngineClaim(checks.engine) : null,
    uploaded_by: getTextField('uploaded_by'),
    ...(linkId !== null && { upload_link_id: linkId }),
    uploaded_at: getIdTime(subject).toISOString(),
  }
}

const toEngineClaim = ({ name, version, signaturesVersion, signaturesDate }: EngineIdentity) => ({
  name,
  version,
  signatures_version: signaturesVersion,
  signatures_date: signaturesDate,
})
