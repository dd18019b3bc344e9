import type { ContextPageArgs } from '../../api/graphql/arguments.js'
import { listFilesLatestFirst, type Page, type TimestampedList } from '../../api/graphql/page.js'
import type { ValidationReport } from '../../inspection/report.js'
import { createFileAuditRow, type Entry, type UploadedFile } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { removeFilesPermanently } from '../../ledger/removal.js'
import { type Actor, canAccessContext, createSystemActor } from '../../platform/actor.js'
import { createOnHoldError, notFound } from '../../platform/errors/errors.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import { isId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { QuarantinedFile } from './lifecycle.types.js'
import type { QuarantineMoves } from './quarantine-moves.js'

/** An infected file, and the lease token of the replica that scanned it. */
export interface InfectedFile extends Pick<UploadedFile, 'tenantId' | 'contextId' | 'fileId' | 'originalFilename'> {
  token: string
  report: ValidationReport
}

type QuarantinedRow = Pick<UploadedFile, 'fileId' | 'contextKey' | 'contextId' | 'originalFilename'>

const quarantined: TimestampedList = {
  alias: 'q',
  timeColumn: 'quarantined_at',
  columns: `q.file_id AS "fileId", f.original_filename AS "originalFilename", f.size_bytes AS "sizeBytes", c.context_key AS "contextKey", q.viruses, q.signatures,
    q.quarantined_at AS "quarantinedAt"`,
  rows: `FROM quarantine q JOIN files f ON f.tenant_id = q.tenant_id AND f.file_id = q.file_id
    JOIN file_contexts c ON c.tenant_id = q.tenant_id AND c.context_id = q.context_id
    WHERE q.tenant_id = $1 AND ($2::text[] IS NULL OR q.context_id = ANY ($2))`,
}

/**
 * Lists and changes quarantined files: files in which a later scan found a virus, infected objects from an adoption, and restored
 * files that are waiting for a scan. Once a quarantine is committed, no replica serves the file.
 */
export class QuarantineService {
  constructor(
    private readonly parts: Pick<Components, 'db' | 'ledger' | 'storage' | 'serviceEvents'> & {
      contexts: FileContextService
      quarantineMoves: QuarantineMoves
    },
  ) {}

  /**
   * Quarantines an infected file, or adds the report if it is already quarantined. Does nothing if the replica's lease on the
   * file was lost.
   */
  async quarantineFile({ tenantId, contextId, fileId, originalFilename, token, report }: InfectedFile): Promise<void> {
    const { viruses, signatures } = toDetection(report)
    // Local objects are not moved: if `moveSeconds` is null, the SQL expression for `move_due_at` is also null.
    const moveSeconds = this.parts.storage.kind === 'local' ? null : 0
    const isNew = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const file = await this.#endLease(tx, { tenantId, fileId, token })
      if (!file) return { result: false, entry: {} }
      await tx.validationReport.create({ data: { tenantId, fileId, validatedAt: report.validatedAt, report: report as object } })
      const { isNew } = file
      await tx.$executeRaw`UPDATE rescans SET passed = passed + 1, scanned = scanned + 1, bytes = bytes + ${report.sizeBytes}, infected = infected + ${Number(isNew)}
        WHERE tenant_id = ${tenantId} AND context_id = ${contextId}`
      await tx.$executeRaw`INSERT INTO quarantine AS q (tenant_id, file_id, context_id, quarantined_at, signatures, viruses, move_due_at)
        VALUES (${tenantId}, ${fileId}, ${contextId}, now(), ${signatures}, ${JSON.stringify(viruses)}::jsonb, now() + make_interval(secs => ${moveSeconds}))
        ON CONFLICT (tenant_id, file_id) DO UPDATE SET signatures = excluded.signatures, viruses = excluded.viruses`
      if (!isNew) return { result: false, entry: {} }
      await tx.$executeRaw`UPDATE files SET quarantined_at = now() WHERE tenant_id = ${tenantId} AND file_id = ${fileId}`
      const details = { change: 'quarantined', viruses, signatures }
      const named = { fileId, contextKey: file.contextKey, originalFilename }
      const audit = createFileAuditRow(createSystemActor(tenantId), 'updated', named, details)
      return { result: true, entry: { audit: [audit] } }
    })
    reachFaultPoint('quarantine.marked')
    if (!isNew) return
    await this.parts.quarantineMoves.tryMoveObject({ tenantId, fileId })
    this.parts.serviceEvents.emit('blobsReleased')
  }

  /** Commits an infected file and its quarantine record in the same transaction, so that no replica ever serves the file. */
  async commitAsQuarantined(entry: Entry & Required<Pick<Entry, 'upload'>>, report: ValidationReport): Promise<void> {
    const { file } = entry.upload!
    const { tenantId, fileId, contextId } = file
    const { viruses, signatures } = toDetection(report)
    const audit = createFileAuditRow(createSystemActor(tenantId), 'updated', file, { change: 'quarantined', viruses, signatures })
    await this.parts.ledger.changeTenant(tenantId, async () => ({
      result: undefined,
      entry: [entry, { audit: [audit] }],
      finish: async (tx) => {
        await tx.$executeRaw`INSERT INTO quarantine (tenant_id, file_id, context_id, quarantined_at, signatures, viruses)
          VALUES (${tenantId}, ${fileId}, ${contextId}, now(), ${signatures}, ${JSON.stringify(viruses)}::jsonb)`
        await tx.$executeRaw`UPDATE files SET quarantined_at = now() WHERE tenant_id = ${tenantId} AND file_id = ${fileId}`
      },
    }))
  }

  async list(actor: Actor, { context, ...args }: ContextPageArgs): Promise<Page<QuarantinedFile>> {
    const contextIds = await this.parts.contexts.getAccessibleContextIds(actor, context)
    return listFilesLatestFirst(this.parts.db.pool, quarantined, { tenantId: actor.tenantId, contextIds }, args)
  }

  /**
   * Releases a file from quarantine. A scan with different signatures can quarantine it again. Throws 404 if the file is not
   * quarantined.
   */
  async release(actor: Actor, fileId: string, reason: string): Promise<{ fileId: string }> {
    return this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const file = await this.#findQuarantinedFile(tx, actor, fileId)
      await tx.$executeRaw`UPDATE files SET quarantined_at = NULL WHERE tenant_id = ${actor.tenantId} AND file_id = ${fileId}`
      await tx.$executeRaw`DELETE FROM quarantine WHERE tenant_id = ${actor.tenantId} AND file_id = ${fileId}`
      const audit = createFileAuditRow(actor, 'updated', file, { change: 'released', reason })
      return { result: { fileId }, entry: { audit: [audit] } }
    })
  }

  /**
   * Deletes a quarantined file permanently, without moving it to the trash. Throws 404 if it is not quarantined, and 409 if it is
   * on hold.
   */
  async purge(actor: Actor, fileId: string): Promise<{ fileId: string }> {
    const { tenantId } = actor
    await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      await this.#findQuarantinedFile(tx, actor, fileId)
      const audit = await removeFilesPermanently(tx, actor, { table: 'files', where: 't.file_id = $3', values: [fileId] })
      if (audit.length === 0) throw createOnHoldError(fileId)
      return { result: undefined, entry: { audit } }
    })
    this.parts.serviceEvents.emit('blobsReleased')
    return { fileId }
  }

  /** Ends the lease on a scanned file and returns the file. Returns undefined if the file was deleted or the lease was lost. */
  async #endLease(tx: Transaction, { tenantId, fileId, token }: Pick<InfectedFile, 'tenantId' | 'fileId' | 'token'>) {
    if ((await tx.rescanQueue.deleteMany({ where: { tenantId, fileId, leaseToken: token } })).count === 0) return undefined
    // A restored file may be in quarantine only because it is waiting for its scan. A virus that this scan finds is therefore
    // counted as new.
    const [file] = await tx.$queryRaw<{ contextKey: string; isNew: boolean }[]>`
      SELECT c.context_key AS "contextKey", NOT EXISTS (SELECT FROM quarantine q WHERE q.tenant_id = f.tenant_id AND q.file_id = f.file_id AND q.viruses <> '[]') AS "isNew"
      FROM files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id
      WHERE f.tenant_id = ${tenantId} AND f.file_id = ${fileId} FOR UPDATE OF f`
    return file
  }

  async #findQuarantinedFile(tx: Transaction, actor: Actor, fileId: string): Promise<QuarantinedRow> {
    const [file] = isId('file', fileId)
      ? await tx.$queryRaw<
          QuarantinedRow[]
        >`SELECT f.file_id AS "fileId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename" FROM files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id
          WHERE f.tenant_id = ${actor.tenantId} AND f.file_id = ${fileId} AND f.quarantined_at IS NOT NULL FOR UPDATE OF f`
      : []
    if (!file || !canAccessContext(actor, file.contextId)) throw notFound('quarantined file', fileId)
    return file
  }
}

const toDetection = ({ checks, engine }: ValidationReport): { viruses: string[]; signatures: string } => ({
  viruses: checks.flatMap(({ check, evidence }) =>
    check === 'virus_detected' && evidence.signature ? [String(evidence.signature)] : [],
  ),
  signatures: `${engine?.name} ${engine?.signaturesVersion}`,
})
