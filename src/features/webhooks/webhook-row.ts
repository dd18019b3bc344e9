import type { Transaction } from '../../ledger/ledger.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { Webhook, WebhookDelivery } from './webhook.types.js'

type Prisma = Database['prisma']
export type WebhookRow = Awaited<ReturnType<Prisma['webhook']['findMany']>>[number]
type PositionRow = Awaited<ReturnType<Prisma['webhookPosition']['findMany']>>[number]
type DeliveryRow = Awaited<ReturnType<Prisma['webhookDelivery']['findMany']>>[number]

export const toWebhook = (row: WebhookRow, position: PositionRow | null | undefined): Webhook => ({
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

export const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  ...row,
  sequence: row.sequence === null ? null : Number(row.sequence),
  status: row.status as WebhookDelivery['status'],
})

/** Throws 404 if the tenant has no such webhook. */
export async function findWebhook(db: Pick<Transaction, 'webhook'>, tenantId: string, webhookId: string): Promise<WebhookRow> {
  const row = isId('whk', webhookId) ? await db.webhook.findFirst({ where: { tenantId, webhookId } }) : null
  if (!row) throw notFound('webhook', webhookId)
  return row
}

export const toWebhookEntity = ({ webhookId, url }: WebhookRow) => ({ type: 'webhook', id: webhookId, name: getHost(url) })

/** Returns the host of a URL. The path and query may be secret, so they must not be logged. */
export const getHost = (url: string): string => new URL(url).host
