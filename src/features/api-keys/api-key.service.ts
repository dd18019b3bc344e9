import { announce } from '../../access/identity-listener.js'
import { getKeyPrefix, hashSecret, newApiKeySecret } from '../../access/secrets.js'
import { mapPage, newestFirst, type Page, type PageArgs, toPagePlace } from '../../api/graphql/page.js'
import type { AuditRow, IdempotentAnswer } from '../../ledger/entry.js'
import type { Ledger, Transaction } from '../../ledger/ledger.js'
import type { Actor, Scope } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { badUserInput, conflict, notFound } from '../../platform/errors/errors.js'
import { idTime, isId, newId } from '../../platform/ids.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { ApiKey, CreateApiKeyInput, CreatedApiKey } from './api-key.types.js'

const day = 86_400_000

interface Parts {
  db: Database
  ledger: Ledger
  contexts: FileContextService
  /** Called with every change once it is committed: this process forgets at once what others forget by NOTIFY. */
  forget: (apiKeyId: string) => void
  lastUse: (apiKeyId: string, kept: Date | null) => Date | null
}

/** API keys (spec §2 and §3): created, disabled, enabled, revoked, rotated. */
export class ApiKeyService {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The secret is in the answer and nowhere else. `secret` only for the first key, whose secret the operator may choose. */
  async create(
    actor: Actor,
    input: CreateApiKeyInput,
    options: { secret?: string; answer?: (id: string) => IdempotentAnswer } = {},
  ): Promise<CreatedApiKey> {
    const contextIds = await this.#restriction(actor, input)
    const secret = options.secret ?? newApiKeySecret()
    const apiKeyId = newId('key')
    const now = idTime(apiKeyId)
    const expiresAt = input.expiresInDays ? new Date(now.getTime() + input.expiresInDays * day) : null
    const scopes = [...new Set(input.scopes)]
    return this.#parts.ledger.change(actor.tenantId, async (tx) => {
      await tx.apiKey.create({
        data: {
          apiKeyId,
          tenantId: actor.tenantId,
          name: input.name,
          keyPrefix: getKeyPrefix(secret),
          secretHash: new Uint8Array(hashSecret(secret)),
          scopes,
          contextIds: contextIds ?? [],
          restricted: contextIds !== null,
          expiresAt,
          metadata: (input.metadata ?? {}) as object,
          createdBy: actor.id,
          createdAt: now,
          updatedAt: now,
        },
      })
      const details = {
        scopes,
        expires_in_days: input.expiresInDays ?? null,
        ...(input.contexts && { contexts: input.contexts }),
      }
      const audit = auditOf(actor, 'created', { apiKeyId, name: input.name }, details)
      return {
        result: { apiKeyId, apiKey: secret, name: input.name, scopes, expiresAt },
        entry: { audit: [audit], answer: options.answer?.(apiKeyId) },
      }
    })
  }

  async get(actor: Actor, apiKeyId: string): Promise<ApiKey> {
    const row = isId('key', apiKeyId)
      ? await this.#parts.db.prisma.apiKey.findFirst({ where: { tenantId: actor.tenantId, apiKeyId } })
      : null
    if (!row) throw notFound('API key', apiKeyId)
    return this.#toApiKey(row)
  }

  async byIds(tenantId: string, apiKeyIds: readonly string[]): Promise<Map<string, ApiKey>> {
    const rows = await this.#parts.db.prisma.apiKey.findMany({ where: { tenantId, apiKeyId: { in: [...apiKeyIds] } } })
    return new Map(rows.map((row) => [row.apiKeyId, this.#toApiKey(row)]))
  }

  async list(
    actor: Actor,
    { page, pageSize, after, status }: PageArgs & { status?: ApiKey['status'] | null },
  ): Promise<Page<ApiKey>> {
    const place = toPagePlace('key', { page, pageSize, after })
    const where = { tenantId: actor.tenantId, ...(status && { status }) }
    const found = await newestFirst(this.#parts.db.prisma.apiKey, { key: 'apiKeyId', where, place })
    return mapPage(found, (row) => this.#toApiKey(row))
  }

  enable = (actor: Actor, apiKeyId: string) =>
    this.#move(actor, apiKeyId, { to: 'active', from: ['disabled'], action: 'enabled' })
  disable = (actor: Actor, apiKeyId: string) =>
    this.#move(actor, apiKeyId, { to: 'disabled', from: ['active'], action: 'disabled' })
  /** Final. Throws 409 where it is revoked already. */
  revoke = (actor: Actor, apiKeyId: string) =>
    this.#move(actor, apiKeyId, { to: 'revoked', from: ['active', 'disabled'], action: 'revoked' })

  /** A new secret for the same key; the old one lives on for `graceSeconds`. */
  async rotate(actor: Actor, apiKeyId: string, graceSeconds: number): Promise<CreatedApiKey> {
    const secret = newApiKeySecret()
    const row = await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      const before = await this.#lock(tx, actor, apiKeyId)
      if (before.status === 'revoked')
        throw conflict(`API key '${apiKeyId}' is permanently revoked. Create a new API key.`, {
          api_key_id: apiKeyId,
          status: before.status,
        })
      const graced = graceSeconds > 0
      const after = await tx.apiKey.update({
        where: { apiKeyId },
        data: {
          secretHash: new Uint8Array(hashSecret(secret)),
          keyPrefix: getKeyPrefix(secret),
          updatedAt: new Date(),
          previousSecretHash: graced ? before.secretHash : null,
          previousExpiresAt: graced ? new Date(now() + graceSeconds * 1000) : null,
        },
      })
      await announceKey(tx, apiKeyId)
      return {
        result: after,
        entry: {
          audit: [
            auditOf(actor, 'updated', after, {
              rotated: true,
              grace_seconds: graceSeconds,
              previous_key_prefix: before.keyPrefix,
            }),
          ],
        },
      }
    })
    this.#parts.forget(apiKeyId)
    return { apiKeyId, apiKey: secret, name: row.name, scopes: row.scopes as Scope[], expiresAt: row.expiresAt }
  }

  async #move(
    actor: Actor,
    apiKeyId: string,
    move: { to: Row['status']; from: Row['status'][]; action: AuditRow['action'] },
  ): Promise<ApiKey> {
    const row = await this.#parts.ledger.change(actor.tenantId, async (tx) => {
      const before = await this.#lock(tx, actor, apiKeyId)
      if (!move.from.includes(before.status))
        throw conflict(`API key '${apiKeyId}' is ${before.status}. To be ${move.action}, it must be ${move.from.join(' or ')}.`, {
          api_key_id: apiKeyId,
          status: before.status,
        })
      const after = await tx.apiKey.update({ where: { apiKeyId }, data: { status: move.to, updatedAt: new Date() } })
      await announceKey(tx, apiKeyId)
      return {
        result: after,
        entry: { audit: [auditOf(actor, move.action, after, { previous_status: before.status, new_status: after.status })] },
      }
    })
    this.#parts.forget(apiKeyId)
    return this.#toApiKey(row)
  }

  #toApiKey(row: Row): ApiKey {
    const lastUsedAt = this.#parts.lastUse(row.apiKeyId, row.lastUsedAt)
    const { restricted, contextIds, metadata } = row
    return { ...row, lastUsedAt, metadata, contextIds: restricted ? contextIds : null } as ApiKey
  }

  async #lock(tx: Transaction, actor: Actor, apiKeyId: string): Promise<Row> {
    const locked = isId('key', apiKeyId)
      ? await tx.$queryRaw<
          unknown[]
        >`SELECT 1 FROM api_keys WHERE tenant_id = ${actor.tenantId} AND api_key_id = ${apiKeyId} FOR UPDATE`
      : []
    if (locked.length === 0) throw notFound('API key', apiKeyId)
    return tx.apiKey.findUniqueOrThrow({ where: { apiKeyId } })
  }

  async #restriction(actor: Actor, input: CreateApiKeyInput): Promise<string[] | null> {
    if (!input.contexts) return null
    // An admin sees the whole tenant, so that a restricted admin would be a contradiction.
    if (input.scopes.includes('admin'))
      throw badUserInput([{ field: 'contexts', message: "cannot restrict an API key with scope 'admin'" }])
    const found = await Promise.all(
      [...new Set(input.contexts)].map(async (key) => ({ key, context: await this.#parts.contexts.find(actor, key) })),
    )
    const unknown = found.filter(({ context }) => !context).map(({ key }) => key)
    if (unknown.length > 0)
      throw badUserInput([
        { field: 'contexts', message: `must be contexts of this tenant. Unknown contexts: ${unknown.join(', ')}` },
      ])
    return found.map(({ context }) => context!.contextId)
  }
}

type Row = Awaited<ReturnType<Database['prisma']['apiKey']['findMany']>>[number]

const announceKey = (tx: Transaction, apiKeyId: string) =>
  announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'api_key', apiKeyId)

const auditOf = (
  actor: Actor,
  action: AuditRow['action'],
  key: { apiKeyId: string; name: string },
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  tenantId: actor.tenantId,
  auditType: 'api_key',
  action,
  entityType: 'api_key',
  entityId: key.apiKeyId,
  entityName: key.name,
  details,
})
