import { changeIdentity } from '../../access/identity.js'
import { generateApiKeySecret, getKeyPrefix, hashSecret } from '../../access/secrets.js'
import { listRowsNewestFirst, mapPage, type Page, toPagePosition } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow, type IdempotentResponse } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor, Scope } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { conflict, invalidField, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { FileContextService } from '../contexts/context.service.js'
import type { ApiKey, ApiKeysArgs, CreateApiKeyInput, CreatedApiKey } from './api-key.types.js'

const dayMs = 86_400_000

interface Dependencies extends Pick<Components, 'db' | 'ledger' | 'identity'> {
  contexts: FileContextService
}

export class ApiKeyService {
  constructor(private readonly parts: Dependencies) {}

  /**
   * Creates an API key and returns its secret, which cannot be retrieved later. `options.secret` is the secret that the operator
   * configured for the first key.
   */
  async create(
    actor: Actor,
    input: CreateApiKeyInput,
    options: { secret?: string; createResponse?: (id: string) => IdempotentResponse } = {},
  ): Promise<CreatedApiKey> {
    const contextIds = await this.#findContextIds(actor, input)
    const secret = options.secret ?? generateApiKeySecret()
    const apiKeyId = newId('key')
    const createdAt = getIdTime(apiKeyId)
    const expiresAt = input.expiresInDays ? new Date(createdAt.getTime() + input.expiresInDays * dayMs) : null
    const scopes = [...new Set(input.scopes)]
    return this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const row = await tx.apiKey.create({
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
          createdAt,
          updatedAt: createdAt,
        },
      })
      const { contexts, expiresInDays = null } = input
      const details = { scopes, expires_in_days: expiresInDays, ...(contexts && { contexts }) }
      const audit = [createAuditRow(actor, 'created', toKeyEntity(row), details)]
      const idempotentResponse = options.createResponse?.(apiKeyId)
      return { result: toCreatedApiKey(row, secret), entry: { audit, idempotentResponse } }
    })
  }

  async get(actor: Actor, apiKeyId: string): Promise<ApiKey> {
    return this.#toApiKey(await findApiKeyRow(this.parts.db.prisma, actor, apiKeyId))
  }

  async list(actor: Actor, { status, ...args }: ApiKeysArgs): Promise<Page<ApiKey>> {
    const position = toPagePosition('key', args)
    const where = { tenantId: actor.tenantId, ...(status && { status }) }
    const found = await listRowsNewestFirst(this.parts.db.prisma.apiKey, { key: 'apiKeyId', where, position })
    return mapPage(found, (row) => this.#toApiKey(row))
  }

  enable(actor: Actor, apiKeyId: string): Promise<ApiKey> {
    return this.#setStatus(actor, apiKeyId, { newStatus: 'active', allowedStatuses: ['disabled'], action: 'enabled' })
  }

  disable(actor: Actor, apiKeyId: string): Promise<ApiKey> {
    return this.#setStatus(actor, apiKeyId, { newStatus: 'disabled', allowedStatuses: ['active'], action: 'disabled' })
  }

  revoke(actor: Actor, apiKeyId: string): Promise<ApiKey> {
    return this.#setStatus(actor, apiKeyId, { newStatus: 'revoked', allowedStatuses: ['active', 'disabled'], action: 'revoked' })
  }

  /** Replaces the secret of an API key. The previous secret remains valid for `graceSeconds`. */
  async rotate(actor: Actor, apiKeyId: string, graceSeconds: number): Promise<CreatedApiKey> {
    const secret = generateApiKeySecret()
    const row = await this.#updateApiKey(actor, apiKeyId, (before) => {
      if (before.status === 'revoked')
        throw conflict(`API key '${apiKeyId}' is permanently revoked. Create a new API key.`, toErrorDetails(before))
      const hasGrace = graceSeconds > 0
      return {
        data: {
          secretHash: new Uint8Array(hashSecret(secret)),
          keyPrefix: getKeyPrefix(secret),
          previousSecretHash: hasGrace ? before.secretHash : null,
          previousExpiresAt: hasGrace ? new Date(now() + graceSeconds * 1000) : null,
        },
        action: 'updated',
        details: { rotated: true, grace_seconds: graceSeconds, previous_key_prefix: before.keyPrefix },
      }
    })
    return toCreatedApiKey(row, secret)
  }

  async #setStatus(
    actor: Actor,
    apiKeyId: string,
    {
      newStatus,
      allowedStatuses,
      action,
    }: { newStatus: Row['status']; allowedStatuses: Row['status'][]; action: AuditRow['action'] },
  ): Promise<ApiKey> {
    const row = await this.#updateApiKey(actor, apiKeyId, (before) => {
      if (!allowedStatuses.includes(before.status))
        throw conflict(
          `API key '${apiKeyId}' is ${before.status}. Only API keys that are ${allowedStatuses.join(' or ')} can be ${action}.`,
          toErrorDetails(before),
        )
      return { data: { status: newStatus }, action, details: { previous_status: before.status, new_status: newStatus } }
    })
    return this.#toApiKey(row)
  }

  #updateApiKey(
    actor: Actor,
    apiKeyId: string,
    planChange: (before: Row) => { data: Partial<Row>; action: AuditRow['action']; details: Record<string, unknown> },
  ): Promise<Row> {
    const { tenantId } = actor
    return changeIdentity(this.parts, { tenantId, kind: 'api_key', id: apiKeyId }, async (tx) => {
      const { data, action, details } = planChange(await findApiKeyRow(tx, actor, apiKeyId))
      const after = await tx.apiKey.update({ where: { apiKeyId }, data: { ...(data as object), updatedAt: new Date() } })
      return { result: after, audit: [createAuditRow(actor, action, toKeyEntity(after), details)] }
    })
  }

  #toApiKey(row: Row): ApiKey {
    const lastUsedAt = this.parts.identity.lastUsed.getLastUsedAt(row.apiKeyId, row.lastUsedAt)
    const { restricted, contextIds, metadata } = row
    return { ...row, lastUsedAt, metadata, contextIds: restricted ? contextIds : null } as ApiKey
  }

  async #findContextIds(actor: Actor, input: CreateApiKeyInput): Promise<string[] | null> {
    if (!input.contexts) return null
    // An API key with the `admin` scope can access the whole tenant, so it cannot be restricted to contexts.
    if (input.scopes.includes('admin'))
      throw invalidField('contexts', "must be omitted if scopes include 'admin', which grants access to all contexts")
    const found = await Promise.all(
      [...new Set(input.contexts)].map(async (key) => ({ key, context: await this.parts.contexts.find(actor, key) })),
    )
    const unknown = found.filter(({ context }) => !context).map(({ key }) => key)
    if (unknown.length > 0)
      throw invalidField('contexts', `must contain only existing context keys. Unknown keys: ${unknown.join(', ')}`)
    return found.map(({ context }) => context!.contextId)
  }
}

type Row = Awaited<ReturnType<Database['prisma']['apiKey']['findMany']>>[number]

async function findApiKeyRow(db: Pick<Transaction, 'apiKey'>, { tenantId }: Actor, apiKeyId: string): Promise<Row> {
  const row = isId('key', apiKeyId) ? await db.apiKey.findFirst({ where: { tenantId, apiKeyId } }) : null
  if (!row) throw notFound('API key', apiKeyId)
  return row
}

const toErrorDetails = ({ apiKeyId, status }: Row) => ({ api_key_id: apiKeyId, status })

const toCreatedApiKey = ({ apiKeyId, name, scopes, expiresAt }: Row, secret: string): CreatedApiKey => ({
  apiKeyId,
  apiKey: secret,
  name,
  scopes: scopes as Scope[],
  expiresAt,
})

const toKeyEntity = ({ apiKeyId, name }: Row) => ({ type: 'api_key', id: apiKeyId, name })
