import { LRUCache } from 'lru-cache'
import { listRowsNewestFirst, mapPage, type Page, type PageArgs, toPagePosition } from '../../api/graphql/page.js'
import { currentUsage, usageColumns } from '../../ledger/counters.js'
import type { IdempotentResponse } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { type Actor, canAccessContext } from '../../platform/actor.js'
import { Batcher } from '../../platform/batcher.js'
import { toSnakeCase } from '../../platform/case-conversion.js'
import { getCurrentTime } from '../../platform/clock.js'
import { Prisma } from '../../platform/db/generated/client.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import { blockReasons } from '../../platform/errors/block-reasons.js'
import { conflict, createDisabledContextError, type FieldError, notFound } from '../../platform/errors/errors.js'
import { getIdTime, newId, parseNumberCursor } from '../../platform/ids.js'
import { megabyte } from '../../platform/units.js'
import type { Components } from '../components.js'
import {
  type ContextStatus,
  type ContextUsage,
  CreateContextInput,
  contextKeyShape,
  type FileContext,
  normalizeExtensions,
  UpdateContextInput,
} from './context.types.js'
import { previewRules } from './context-preview.js'
import {
  type ContextRow,
  parseStoredRules,
  requiresNewVersion,
  toContextAuditRow,
  toContextUpdateAuditRows,
  toRules,
  toVersionRow,
} from './context-rules.js'
import type { ContextPreview, ContextVersion, PreviewContextInput, UpdateContextPolicyInput } from './context-rules.types.js'

const contextColumns = Object.keys(Prisma.FileContextScalarFieldEnum)
  .map((field) => `c.${toSnakeCase(field)} AS "${field}"`)
  .join(', ')

type ContextChanges = UpdateContextInput & UpdateContextPolicyInput

/** Manages file contexts, which are sets of upload rules. */
export class FileContextService {
  /** Concurrent lookups by key for a tenant share one SQL statement. */
  readonly #reads = new Batcher<{ tenantId: string; contextKey: string }, FileContext | undefined>({
    getGroup: ({ tenantId }) => tenantId,
    run: async (wanted) => {
      const keys = [...new Set(wanted.map(({ contextKey }) => contextKey))]
      const found = await this.#readContexts(wanted[0]!.tenantId, 'context_key', keys)
      return wanted.map(({ contextKey }) => found.find((context) => context.contextKey === contextKey))
    },
  })
  readonly #recent = new LRUCache<string, FileContext>({ max: 1000, ttl: 1000 })

  constructor(private readonly parts: Pick<Components, 'db' | 'ledger'> & { maxUploadMb: number }) {}

  /** Checks that the maximum file size of a context does not exceed the service's `MAX_UPLOAD_MB` setting. */
  findInputErrors(input: object): FieldError[] {
    const isContext = input instanceof CreateContextInput || input instanceof UpdateContextInput
    return isContext && input.maxFileSizeMb !== undefined && input.maxFileSizeMb > this.parts.maxUploadMb
      ? [{ field: 'maxFileSizeMb', message: `must be between 1 and ${this.parts.maxUploadMb}`, value: input.maxFileSizeMb }]
      : []
  }

  /** Creates a context. Throws 409 if the tenant already has a context with the same key. */
  async create(
    actor: Actor,
    input: CreateContextInput,
    createResponse?: (context: FileContext) => IdempotentResponse,
  ): Promise<FileContext> {
    const contextId = newId('ctx')
    const now = getIdTime(contextId)
    try {
      return await this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
        const row = await tx.fileContext.create({
          data: {
            ...input,
            allowedExtensions: normalizeExtensions(input.allowedExtensions),
            metadata: (input.metadata ?? {}) as object,
            contextId,
            tenantId: actor.tenantId,
            createdAt: now,
            updatedAt: now,
          },
        })
        await tx.fileTotal.create({ data: { tenantId: actor.tenantId, contextId } })
        await tx.contextVersion.create({ data: toVersionRow(actor, row) })
        const details = {
          allowed_extensions: row.allowedExtensions,
          max_file_size_mb: row.maxFileSizeMb,
          storage_quota_mb: row.storageQuotaMb,
        }
        const context = toContext(row, 0)
        return {
          result: context,
          entry: { audit: [toContextAuditRow(actor, 'created', row, details)], idempotentResponse: createResponse?.(context) },
        }
      })
    } catch (error) {
      if (getSqlErrorKind(error) === 'duplicate')
        throw conflict(`Context '${input.contextKey}' already exists. Choose another key.`, { context_key: input.contextKey })
      throw error
    }
  }

  /** Returns a context by key. Throws 404 if the context does not exist or the API key has no access to it. */
  async get(actor: Actor, contextKey: string): Promise<FileContext> {
    const found = await this.find(actor, contextKey)
    if (!found) throw notFound('context', contextKey)
    return found
  }

  /** Returns a context by ID. Throws 404 if the context does not exist or the API key has no access to it. */
  async getById(actor: Actor, contextId: string): Promise<FileContext> {
    const found = canAccessContext(actor, contextId)
      ? (await this.getByIds(actor.tenantId, [contextId])).get(contextId)
      : undefined
    if (!found) throw notFound('context', contextId)
    return found
  }

  /** Returns the ID of the context with this key or, without a key, the IDs of all accessible contexts. Null means all. */
  async getAccessibleContextIds(actor: Actor, contextKey: string | null | undefined): Promise<readonly string[] | null> {
    if (typeof contextKey !== 'string') return actor.contexts
    const found = await this.find(actor, contextKey)
    return found ? [found.contextId] : []
  }

  /** Returns a context by key, or undefined if it does not exist or is not accessible. */
  async find(actor: Actor, contextKey: string): Promise<FileContext | undefined> {
    if (!contextKeyShape.test(contextKey)) return undefined
    const found = await this.#reads.add({ tenantId: actor.tenantId, contextKey })
    this.#recent.set(toCacheKey(actor, contextKey), found?.status === 'active' ? found : undefined)
    return found && canAccessContext(actor, found.contextId) ? found : undefined
  }

  async #readContexts(tenantId: string, column: 'context_key' | 'context_id', values: readonly string[]): Promise<FileContext[]> {
    const { rows } = await this.parts.db.pool.query<FileContext>({
      name: `contexts-by-${column}`,
      text: `SELECT ${contextColumns}, t.bytes AS "storageUsedBytes" FROM file_contexts c JOIN file_totals t ON t.tenant_id = $1 AND t.context_id = c.context_id
        WHERE c.tenant_id = $1 AND c.${column} = ANY($2)`,
      values: [tenantId, values],
    })
    return rows
  }

  /**
   * Works like `find`, but may return cached rules that are up to one second old. The caller must verify later that they have not
   * changed.
   */
  async findWithCache(actor: Actor, contextKey: string): Promise<FileContext | undefined> {
    const recent = this.#recent.get(toCacheKey(actor, contextKey))
    return recent && canAccessContext(actor, recent.contextId) ? recent : this.find(actor, contextKey)
  }

  /** Returns the context's maximum upload size in bytes: its own limit or `MAX_UPLOAD_MB`, whichever is smaller. */
  readonly getMaxUploadBytes = ({ maxFileSizeMb }: FileContext): number =>
    Math.min(maxFileSizeMb, this.parts.maxUploadMb) * megabyte

  async getByIds(tenantId: string, contextIds: readonly string[]): Promise<Map<string, FileContext>> {
    const found = await this.#readContexts(tenantId, 'context_id', contextIds)
    return new Map(found.map((context) => [context.contextId, context]))
  }

  /** Returns the usage of contexts by context ID. Reads only counters, so the cost does not depend on the number of files. */
  async getUsageByIds(tenantId: string, contextIds: readonly string[]): Promise<Map<string, ContextUsage>> {
    const { rows } = await this.parts.db.pool.query<ContextUsage & { contextId: string }>(
      `SELECT c.context_id AS "contextId", coalesce(t.files, 0)::bigint AS "fileCount", coalesce(t.bytes, 0)::bigint AS "totalBytes",
         greatest(0, c.storage_quota_mb * ${megabyte}::bigint - coalesce(t.bytes, 0))::bigint AS "remainingBytes", coalesce(u.files_uploaded, 0)::bigint AS "filesUploaded",
         coalesce(${blockReasons.map((reason) => `u.${reason}`).join(' + ')}, 0)::bigint AS "filesBlocked",
         coalesce(u.upload_success + u.upload_failure + u.download_success + u.download_failure + u.metadata_success + u.metadata_failure + u.delete_success + u.delete_failure, 0)::bigint AS calls
       FROM file_contexts c LEFT JOIN file_totals t ON t.tenant_id = $1 AND t.context_id = c.context_id
       LEFT JOIN LATERAL (SELECT ${usageColumns.map((column) => `sum(${column}) AS ${column}`).join(', ')}
         FROM ${currentUsage} u WHERE u.tenant_id = $1 AND u.subject = c.context_id AND u.grain = 'total') u ON true
       WHERE c.tenant_id = $1 AND c.context_id = ANY($2)`,
      [tenantId, contextIds],
    )
    return new Map(rows.map(({ contextId, ...usage }) => [contextId, usage]))
  }

  async list(actor: Actor, { status, ...args }: PageArgs & { status?: ContextStatus }): Promise<Page<FileContext>> {
    const position = toPagePosition('ctx', args)
    const where = {
      tenantId: actor.tenantId,
      ...(actor.contexts && { contextId: { in: [...actor.contexts] } }),
      ...(status && { status }),
    }
    const { fileContext } = this.parts.db.prisma
    const { data, pagination } = await listRowsNewestFirst(fileContext, { key: 'contextId', where, position })
    const ids = data.map(({ contextId }) => contextId)
    const found = await this.getByIds(actor.tenantId, ids)
    return { data: ids.flatMap((id) => found.get(id) ?? []), pagination }
  }

  update(actor: Actor, contextKey: string, input: UpdateContextInput): Promise<FileContext> {
    return this.#update(actor, contextKey, normalizeChanges(input), {})
  }

  updatePolicy(actor: Actor, contextKey: string, input: UpdateContextPolicyInput): Promise<FileContext> {
    return this.#update(actor, contextKey, normalizeChanges(input), { change: 'policy' })
  }

  #update(actor: Actor, contextKey: string, changes: ContextChanges, details: object): Promise<FileContext> {
    const changed = this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const before = await findContextForUpdate(tx, actor, contextKey)
      const where = { tenantId_contextId: { tenantId: actor.tenantId, contextId: before.contextId } }
      const isVersion = requiresNewVersion(before, changes)
      const row = await tx.fileContext.update({
        where,
        data: {
          ...changes,
          ...(changes.metadata && { metadata: changes.metadata as object }),
          ...(isVersion && { rulesVersion: before.rulesVersion + 1 }),
          updatedAt: getCurrentTime(),
        },
      })
      if (isVersion) await tx.contextVersion.create({ data: toVersionRow(actor, row) })
      const used = await tx.fileTotal.findUnique({ where })
      return {
        result: toContext(row, Number(used?.bytes ?? 0)),
        entry: { audit: toContextUpdateAuditRows(actor, { before, after: row, changes, details }) },
      }
    })
    return changed.finally(() => this.#recent.delete(toCacheKey(actor, contextKey)))
  }

  async listVersions(actor: Actor, contextKey: string, { page, pageSize, after }: PageArgs): Promise<Page<ContextVersion>> {
    const { tenantId, contextId } = await this.get(actor, contextKey)
    const position = { page, pageSize, afterId: typeof after === 'string' ? parseNumberCursor(after) : undefined }
    const { contextVersion } = this.parts.db.prisma
    const found = await listRowsNewestFirst(contextVersion, { key: 'version', where: { tenantId, contextId }, position })
    return mapPage(found, ({ version, changedBy, changedAt, rules }) => {
      return { id: `${contextId}:${version}`, version, changedBy, changedAt, rules: parseStoredRules(rules as object) }
    })
  }

  /** Returns the effect that a change would have on stored files, without making the change. */
  async preview(actor: Actor, contextKey: string, input: PreviewContextInput): Promise<ContextPreview> {
    const context = await this.get(actor, contextKey)
    const rules = toRules({ ...context, ...normalizeChanges(input), ...normalizeChanges(input.policy ?? {}) })
    return previewRules(this.parts.db.pool, context, rules)
  }

  /** Deletes an empty context. Throws 409 if the context contains files, including files in the trash. */
  async delete(actor: Actor, contextKey: string): Promise<{ contextId: string; contextKey: string }> {
    const changed = this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const found = await findContextForUpdate(tx, actor, contextKey)
      const where = { tenantId: actor.tenantId, contextId: found.contextId }
      // No upload can commit between this check and the deletion, because the transaction holds the tenant's lock.
      const held = await tx.fileTotal.findUnique({ where: { tenantId_contextId: where } })
      const files = Number(held?.files ?? 0)
      if (files > 0)
        throw conflict(`Context '${contextKey}' contains ${files} files. Delete them first.`, { context_key: contextKey, files })
      const trashed = await tx.trashedFile.count({ where })
      if (trashed > 0)
        throw conflict(`Context '${contextKey}' has ${trashed} files in the trash. Restore or purge them first.`, {
          context_key: contextKey,
          files: 0,
          trashed,
        })
      await tx.fileContext.deleteMany({ where })
      await tx.fileTotal.deleteMany({ where })
      await tx.contextVersion.deleteMany({ where })
      await tx.rescan.deleteMany({ where })
      await tx.fileGroup.deleteMany({ where })
      return {
        result: { contextId: found.contextId, contextKey },
        entry: { audit: [toContextAuditRow(actor, 'deleted', found, {})] },
      }
    })
    return changed.finally(() => this.#recent.delete(toCacheKey(actor, contextKey)))
  }
}

/** Throws 409 if the context does not accept uploads. */
export function assertActive({ contextKey, status }: FileContext): void {
  if (status !== 'active') throw createDisabledContextError(contextKey, status)
}

async function findContextForUpdate(tx: Transaction, actor: Actor, contextKey: string): Promise<ContextRow> {
  const found = contextKeyShape.test(contextKey)
    ? await tx.fileContext.findUnique({ where: { tenantId_contextKey: { tenantId: actor.tenantId, contextKey } } })
    : null
  if (!found || !canAccessContext(actor, found.contextId)) throw notFound('context', contextKey)
  return found
}

const toCacheKey = ({ tenantId }: Actor, contextKey: string) => `${tenantId} ${contextKey}`

const toContext = (row: ContextRow, storageUsedBytes: number) => ({ ...row, storageUsedBytes }) as FileContext

/** Returns only the fields that the input sets, with normalized file extensions. */
const normalizeChanges = ({ allowedExtensions, ...input }: ContextChanges): ContextChanges => ({
  ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
  ...(allowedExtensions && { allowedExtensions: normalizeExtensions(allowedExtensions) }),
})
