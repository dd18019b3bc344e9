import { type AuditRow, createAuditRow } from '../../ledger/entry.js'
import type { Transaction } from '../../ledger/ledger.js'
import type { Actor } from '../../platform/actor.js'
import { now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import type { Webhook, WebhookDelivery } from './webhook.types.js'

type Prisma = Database['prisma']
export type WebhookRow = Awaited<ReturnType<Prisma['webhook']['findMany']>>[number]
type PositionRow = Awaited<ReturnType<Prisma['webhookPosition']['findMany']>>[number]
type DeliveryRow = Awaited<ReturnType<Prisma['webhookDelivery']['findMany']>>[number]

/** Returns the public fields of a webhook. */
export const toWebhook = (row: WebhookRow, position: PositionRow | undefined): Webhook => ({
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

/** Returns a webhook's row and the row with its position. Throws 404 if the tenant has no such webhook. */
export async function findWebhook(
  { prisma }: Database,
  tenantId: string,
  webhookId: string,
): Promise<{ row: WebhookRow; position: PositionRow | undefined }> {
  const where = { tenantId, webhookId }
  const [row, position] = isId('whk', webhookId)
    ? await Promise.all([prisma.webhook.findFirst({ where }), prisma.webhookPosition.findFirst({ where })])
    : []
  if (!row) throw notFound('webhook', webhookId)
  return { row, position: position ?? undefined }
}

/** Locks a webhook's row until the transaction ends, and returns it. Throws 404 if the tenant has no such webhook. */
export async function lockWebhook(tx: Transaction, tenantId: string, webhookId: string): Promise<WebhookRow> {
  const locked = isId('whk', webhookId)
    ? await tx.$queryRaw<unknown[]>`SELECT 1 FROM webhooks WHERE tenant_id = ${tenantId} AND webhook_id = ${webhookId} FOR UPDATE`
    : []
  if (locked.length === 0) throw notFound('webhook', webhookId)
  return tx.webhook.findUniqueOrThrow({ where: { tenantId_webhookId: { tenantId, webhookId } } })
}

export const toWebhookAuditRow = (actor: Actor, action: AuditRow['action'], row: WebhookRow, details: Record<string, unknown>) =>
  createAuditRow(actor, action, { type: 'webhook', id: row.webhookId, name: getHost(row.url) }, details)

/** Returns the host of a URL. The path and query may be secret, so they must not be logged. */
export const getHost = (url: string): string => new URL(url).host
