import { getWebhookSecretLabel } from '../../access/secrets.js'
import { listRowsNewestFirst, mapPage, type Page, type PageArgs, toPagePosition } from '../../api/graphql/page.js'
import { type AuditRow, createAuditRow, createUpdateAuditRows } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import { type Actor, createSystemActor } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { WebhookPosition, Webhook as WebhookRow } from '../../platform/db/generated/client.js'
import { badUserInput, conflict, type FieldError, invalidField, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import type { Components } from '../components.js'
import type { OutboundClient } from './outbound.js'
import type { CreateWebhookInput, DeletedWebhook, UpdateWebhookInput, Webhook, WebhookWithSecret } from './webhook.types.js'
import type { DisabledReason } from './webhook-delivery.js'
import { createWebhookSecret } from './webhook-delivery.js'
import type { WebhookKey } from './webhook-positions.js'

const maxWebhooks = 20
const previousSecretMs = 24 * 3600 * 1000

interface Dependencies extends Pick<Components, 'db' | 'ledger' | 'masterKey'> {
  outbound: OutboundClient
  /** Called after a webhook is created or changed. */
  onChanged(): void
}

interface WebhookChange {
  data?: Partial<WebhookRow>
  position?: { sequence?: number; failingSince?: null }
  audit: (after: WebhookRow) => AuditRow[]
}

/** Creates, updates and replays webhooks. `WebhookSender` delivers their events. */
export class WebhookService {
  constructor(private readonly parts: Dependencies) {}

  async list({ tenantId }: Actor, args: PageArgs): Promise<Page<Webhook>> {
    const pagePosition = toPagePosition('whk', args)
    const { webhook, webhookPosition } = this.parts.db.prisma
    const [found, positions] = await Promise.all([
      listRowsNewestFirst(webhook, { key: 'webhookId', where: { tenantId }, position: pagePosition }),
      webhookPosition.findMany({ where: { tenantId } }),
    ])
    const byWebhook = new Map(positions.map((position) => [position.webhookId, position]))
    return mapPage(found, (row) => toWebhook(row, byWebhook.get(row.webhookId)))
  }

  async get({ tenantId }: Actor, webhookId: string): Promise<Webhook> {
    const { prisma } = this.parts.db
    const row = await findWebhook(prisma, tenantId, webhookId)
    return toWebhook(row, await prisma.webhookPosition.findFirst({ where: { tenantId, webhookId } }))
  }

  /** Creates a webhook. Throws 409 if the tenant has the maximum number of webhooks. */
  async create(actor: Actor, input: CreateWebhookInput): Promise<WebhookWithSecret> {
    const { tenantId } = actor
    const url = await this.#validateInput(actor, input)
    const webhookId = newId('whk')
    const secret = createWebhookSecret()
    const at = getIdTime(webhookId)
    const webhook = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
      if ((await tx.webhook.count({ where: { tenantId } })) >= maxWebhooks)
        throw conflict(`The tenant already has the maximum of ${maxWebhooks} webhooks. Delete a webhook first.`, {
          limit: maxWebhooks,
        })
      const row = await tx.webhook.create({
        data: {
          tenantId,
          webhookId,
          url: url!,
          types: [...new Set(input.types)],
          contexts: [...new Set(input.contexts ?? [])],
          description: input.description,
          secretEncrypted: this.#encryptSecret(webhookId, secret),
          createdBy: actor.id,
          createdAt: at,
          updatedAt: at,
        },
      })
      const head = await readJournalHead(tx, tenantId)
      const position = await tx.webhookPosition.create({ data: { tenantId, webhookId, sequence: head.journalLength } })
      const audit = [createAuditRow(actor, 'created', toWebhookEntity(row), toAuditFields(row))]
      return { result: toWebhook(row, position), entry: { audit } }
    })
    this.parts.onChanged()
    return { ...webhook, secret, webhook }
  }

  /** Updates a webhook. A webhook that is enabled again continues at its last position. */
  async update(actor: Actor, webhookId: string, input: UpdateWebhookInput): Promise<Webhook> {
    await findWebhook(this.parts.db.prisma, actor.tenantId, webhookId)
    const url = await this.#validateInput(actor, input)
    return this.#updateWebhook(actor, webhookId, (before) => ({
      data: {
        url,
        types: input.types && [...new Set(input.types)],
        contexts: input.contexts === null ? [] : input.contexts && [...new Set(input.contexts)],
        description: input.description,
        ...(input.status !== before.status && toStatusFields(input.status)),
      },
      position: input.url !== undefined || input.status === 'active' ? { failingSince: null } : {},
      audit: (after) => toAuditRows(actor, before, after),
    }))
  }

  async delete(actor: Actor, webhookId: string): Promise<DeletedWebhook> {
    return this.parts.ledger.changeTenant(actor.tenantId, async (tx) => {
      const row = await findWebhook(tx, actor.tenantId, webhookId)
      const where = { tenantId: actor.tenantId, webhookId }
      await tx.webhookDelivery.deleteMany({ where })
      await tx.webhookPosition.deleteMany({ where })
      await tx.webhook.deleteMany({ where })
      const audit = [createAuditRow(actor, 'deleted', toWebhookEntity(row), {})]
      return { result: { webhookId, deleted: true }, entry: { audit } }
    })
  }

  /**
   * Replaces a webhook's secret. For 24 hours, deliveries are signed with both secrets, so that receivers can switch to the new
   * one.
   */
  async rotateSecret(actor: Actor, webhookId: string): Promise<WebhookWithSecret> {
    const secret = createWebhookSecret()
    const previousExpiresAt = new Date(now() + previousSecretMs)
    const webhook = await this.#updateWebhook(actor, webhookId, async (_, tx) => ({
      data: {
        secretEncrypted: this.#encryptSecret(webhookId, secret),
        previousSecretEncrypted: await lockAndReadSecret(tx, actor.tenantId, webhookId),
        previousExpiresAt,
      },
      audit: (after) => [
        createAuditRow(actor, 'updated', toWebhookEntity(after), {
          change: 'secret_rotated',
          previous_secret_expires_at: previousExpiresAt.toISOString(),
        }),
      ],
    }))
    return { ...webhook, secret, webhook }
  }

  /** Resends all events starting at `fromSequence`. Throws 400 if `fromSequence` exceeds the next sequence number. */
  async replay(actor: Actor, webhookId: string, fromSequence: number): Promise<Webhook> {
    return this.#updateWebhook(actor, webhookId, async (_, tx) => {
      const last = Number((await readJournalHead(tx, actor.tenantId)).journalLength)
      if (fromSequence > last + 1)
        throw invalidField('from_sequence', `must be at most ${last + 1}, because the last event has sequence number ${last}`)
      return {
        position: { sequence: fromSequence - 1, failingSince: null },
        audit: (after) => [
          createAuditRow(actor, 'updated', toWebhookEntity(after), { change: 'replayed', from_sequence: fromSequence }),
        ],
      }
    })
  }

  /** Disables a webhook after a 410 response, or if its deliveries have failed for days. */
  disable({ tenantId, webhookId }: WebhookKey, reason: DisabledReason): Promise<Webhook> {
    const actor = createSystemActor(tenantId)
    return this.#updateWebhook(actor, webhookId, (before) => ({
      data: { status: 'disabled', disabledReason: reason },
      audit: (after) =>
        before.status === 'disabled' ? [] : [createAuditRow(actor, 'disabled', toWebhookEntity(after), { reason })],
    }))
  }

  /** Updates a webhook and makes its next delivery attempt due immediately. A delivery in progress loses its lease. */
  async #updateWebhook(
    actor: Actor,
    webhookId: string,
    planChange: (before: WebhookRow, tx: Transaction) => WebhookChange | Promise<WebhookChange>,
  ): Promise<Webhook> {
    const { tenantId } = actor
    const webhook = await this.parts.ledger.changeTenant(tenantId, async (tx: Transaction) => {
      const before = await findWebhook(tx, tenantId, webhookId)
      const { data, position, audit } = await planChange(before, tx)
      const where = { tenantId_webhookId: { tenantId, webhookId } }
      const after = await tx.webhook.update({ where, data: { ...data, updatedAt: new Date(now()) } as object })
      const moved = await tx.webhookPosition.update({
        where,
        data: { ...position, attempts: 0, nextAttemptAt: null, leaseToken: null },
      })
      return { result: toWebhook(after, moved), entry: { audit: audit(after) } }
    })
    this.parts.onChanged()
    return webhook
  }

  #encryptSecret(webhookId: string, secret: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.parts.masterKey.encrypt(Buffer.from(secret), getWebhookSecretLabel(webhookId)))
  }

  /** Returns the canonical form of the URL, if any. Throws 400 if the URL or a context is invalid. */
  async #validateInput(actor: Actor, input: UpdateWebhookInput): Promise<string | undefined> {
    const [target, unknown] = await Promise.all([
      input.url === undefined ? undefined : this.parts.outbound.validateUrl(input.url),
      this.#findUnknownContext(actor.tenantId, input.contexts ?? []),
    ])
    const errors: FieldError[] = []
    if (target && 'error' in target) errors.push({ field: 'url', message: target.error })
    if (unknown !== undefined)
      errors.push({ field: 'contexts', message: `must contain only existing context keys. Unknown key: ${unknown}` })
    if (errors.length > 0) throw badUserInput(errors)
    return target && 'url' in target ? target.url : undefined
  }

  async #findUnknownContext(tenantId: string, keys: readonly string[]): Promise<string | undefined> {
    if (keys.length === 0) return undefined
    const rows = await this.parts.db.prisma.fileContext.findMany({
      where: { tenantId, contextKey: { in: [...keys] } },
      select: { contextKey: true },
    })
    return keys.find((key) => !rows.some(({ contextKey }) => contextKey === key))
  }
}

const toStatusFields = (status: Webhook['status'] | undefined) =>
  status && { status, disabledReason: status === 'disabled' ? 'requested' : null }

const toAuditFields = (row: WebhookRow) => ({
  host: getHost(row.url),
  types: row.types,
  contexts: row.contexts.length > 0 ? row.contexts : null,
  description: row.description,
})

/** Returns separate audit log entries for a changed status and for changed settings. Only the host of a URL is logged. */
function toAuditRows(actor: Actor, before: WebhookRow, after: WebhookRow): AuditRow[] {
  const entity = toWebhookEntity(after)
  const status = { previous_status: before.status, new_status: after.status }
  return [
    ...(before.status === after.status
      ? []
      : [createAuditRow(actor, after.status === 'active' ? 'enabled' : 'disabled', entity, status)]),
    ...createUpdateAuditRows(
      actor,
      entity,
      toAuditFields(before),
      toAuditFields(after),
      before.url === after.url ? {} : { url: true },
    ),
  ]
}

const readJournalHead = (tx: Transaction, tenantId: string) =>
  tx.tenantHead.findUniqueOrThrow({ where: { tenantId }, select: { journalLength: true } })

const toWebhook = (row: WebhookRow, position: WebhookPosition | null | undefined): Webhook => ({
  webhookId: row.webhookId,
  url: row.url,
  types: row.types,
  contexts: row.contexts.length > 0 ? row.contexts : null,
  description: row.description,
  status: row.status as Webhook['status'],
  disabledReason: row.disabledReason as Webhook['disabledReason'],
  lastSequence: Number(position?.sequence ?? 0),
  failingSince: position?.failingSince ?? null,
  nextAttemptAt: row.status === 'active' ? (position?.nextAttemptAt ?? null) : null,
  previousSecretExpiresAt: row.previousExpiresAt && row.previousExpiresAt.getTime() > now() ? row.previousExpiresAt : null,
  createdBy: row.createdBy,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** Returns a webhook. Throws 404 if the tenant has no such webhook. */
export async function findWebhook(db: Pick<Transaction, 'webhook'>, tenantId: string, webhookId: string): Promise<WebhookRow> {
  const row = isId('whk', webhookId) ? await db.webhook.findFirst({ where: { tenantId, webhookId } }) : null
  if (!row) throw notFound('webhook', webhookId)
  return row
}

/**
 * Returns the encrypted secret, and locks the row until the transaction ends. Without the lock, a concurrent re-encryption with a
 * new MASTER_KEY could leave a copy of the secret that is still encrypted with the old key.
 */
async function lockAndReadSecret(tx: Transaction, tenantId: string, webhookId: string): Promise<Uint8Array<ArrayBuffer>> {
  const [row] = await tx.$queryRaw<{ secret: Uint8Array<ArrayBuffer> }[]>`
    SELECT secret_encrypted AS secret FROM webhooks WHERE tenant_id = ${tenantId} AND webhook_id = ${webhookId} FOR UPDATE`
  return row!.secret
}

const toWebhookEntity = ({ webhookId, url }: WebhookRow) => ({ type: 'webhook', id: webhookId, name: getHost(url) })

/** Returns the host of a URL. The path and query may be secret, so they must not be logged. */
const getHost = (url: string): string => new URL(url).host
