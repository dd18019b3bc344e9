import { announce } from '../../access/identity-listener.js'
import type { AuditRow } from '../../ledger/entry.js'
import type { Ledger } from '../../ledger/ledger.js'
import { type Actor, systemActor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { badUserInput, conflict, notFound } from '../../platform/errors/errors.js'
import { idTime, isId, newId } from '../../platform/ids.js'
import { megabyte } from '../../platform/units.js'
import type { Tenant, UpdateTenantInput } from './tenant.types.js'
import { TenantDeletion } from './tenant-deletion.js'

/** Tenants: made, suspended, resumed and deleted by the operator; named and sized by their own admins. */
export class TenantService {
  readonly #db: Database
  readonly #ledger: Ledger
  readonly #forget: (tenantId: string) => void
  readonly deletion: TenantDeletion

  constructor(parts: { db: Database; ledger: Ledger; forget: (tenantId: string) => void }) {
    this.#db = parts.db
    this.deletion = new TenantDeletion(parts.db)
    this.#ledger = parts.ledger
    this.#forget = parts.forget
  }

  async get(actor: Actor): Promise<Tenant> {
    const { rows } = await this.#db.pool.query<Tenant>({
      name: 'tenant-by-id',
      text: `SELECT t.tenant_id AS "tenantId", t.name, t.storage_quota_mb AS "storageQuotaMb", t.storage_quota_ceiling_mb AS "storageQuotaCeilingMb", t.second_factor_required AS "secondFactorRequired", coalesce(h.bytes, 0)::bigint AS "storageUsedBytes", t.created_at AS "createdAt", t.updated_at AS "updatedAt"
        FROM tenants t LEFT JOIN tenant_heads h ON h.tenant_id = t.tenant_id WHERE t.tenant_id = $1`,
      values: [actor.tenantId],
    })
    if (!rows[0]) throw notFound('tenant', actor.tenantId)
    return rows[0]
  }

  /** Throws 404 where it is another. */
  async getById(actor: Actor, tenantId: string): Promise<Tenant> {
    if (tenantId !== actor.tenantId) throw notFound('tenant', tenantId)
    return this.get(actor)
  }

  /** Throws 400 where the quota would go beyond the operator's ceiling. */
  update(actor: Actor, input: UpdateTenantInput): Promise<Tenant> {
    return this.#change(actor, ({ storageQuotaMb, storageQuotaCeilingMb: ceiling }) => {
      const wanted = input.storageQuotaMb ?? 0
      // A quota that is beyond it already may be lowered by and by.
      if (wanted > ceiling && wanted > storageQuotaMb)
        throw badUserInput([
          { field: 'storage_quota_mb', message: `must be at most ${ceiling}, the maximum that the operator set` },
        ])
      return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    })
  }

  /** Takes effect on open sessions too. */
  requireSecondFactor(actor: Actor, secondFactorRequired: boolean): Promise<Tenant> {
    return this.#change(actor, () => ({ secondFactorRequired }))
  }

  /** By the operator alone: the quota, and how far its admins may raise it again. */
  setQuota(tenantId: string, quotaMb: number): Promise<Tenant> {
    refuseQuota(quotaMb)
    return this.#change(systemActor(tenantId), () => ({ storageQuotaMb: quotaMb, storageQuotaCeilingMb: quotaMb }))
  }

  /** What the tenant's quota leaves, in bytes: what an upload's Content-Length is held against before its body is read. */
  async remainingBytes(tenantId: string): Promise<number> {
    const { rows } = await this.#db.pool.query<{ remaining: number }>({
      name: 'tenant-remaining',
      text: `SELECT t.storage_quota_mb * ${megabyte}::bigint - coalesce(h.bytes, 0) AS remaining
        FROM tenants t LEFT JOIN tenant_heads h ON h.tenant_id = t.tenant_id WHERE t.tenant_id = $1`,
      values: [tenantId],
    })
    return Math.max(0, Number(rows[0]?.remaining ?? 0))
  }

  /** Its quota and what it holds of that, in bytes. */
  readonly room = async (actor: Actor): Promise<{ quota: number; held: number }> => {
    const { storageQuotaMb, storageUsedBytes } = await this.get(actor)
    return { quota: storageQuotaMb * megabyte, held: storageUsedBytes }
  }

  /** By the operator alone. */
  async create({ name, quotaMb }: { name: string; quotaMb?: number }): Promise<{ tenantId: string; name: string }> {
    const fault = [...name].length < 1 || [...name].length > 255 || name.includes('\0')
    if (fault) throw badUserInput([{ field: 'name', message: 'must be text of 1 to 255 characters' }])
    if (quotaMb !== undefined) refuseQuota(quotaMb)
    const tenantId = newId('ten')
    const now = idTime(tenantId)
    return this.#ledger.change(tenantId, async (tx) => {
      const row = await tx.tenant.create({
        data: {
          tenantId,
          name,
          ...(quotaMb && { storageQuotaMb: quotaMb, storageQuotaCeilingMb: quotaMb }),
          createdAt: now,
          updatedAt: now,
        },
      })
      await tx.tenantHead.create({ data: { tenantId } })
      return {
        result: { tenantId, name },
        entry: { audit: [auditOf(systemActor(tenantId), 'created', row, { storage_quota_mb: row.storageQuotaMb })] },
      }
    })
  }

  async list(): Promise<
    { tenantId: string; name: string; status: string; storageQuotaMb: number; storageUsedBytes: number; createdAt: Date }[]
  > {
    const { rows } = await this.#db.pool.query(
      `SELECT t.tenant_id AS "tenantId", t.name, t.status, t.storage_quota_mb AS "storageQuotaMb", coalesce(h.bytes, 0)::bigint AS "storageUsedBytes", t.created_at AS "createdAt"
       FROM tenants t LEFT JOIN tenant_heads h ON h.tenant_id = t.tenant_id ORDER BY t.tenant_id`,
    )
    return rows
  }

  /** Every credential then gets a clear 403; nothing is deleted. */
  suspend = (tenantId: string) => this.#move(tenantId, 'suspended', 'disabled')
  resume = (tenantId: string) => this.#move(tenantId, 'active', 'enabled')

  /** Deletes the tenant with all it owns; `name` must be typed again. Its blobs go into the garbage journal, due now. */
  async delete(tenantId: string, name: string): Promise<{ tenantId: string; files: number }> {
    const tenant = isId('ten', tenantId) ? await this.#db.prisma.tenant.findUnique({ where: { tenantId } }) : null
    if (!tenant && !(await this.deletion.isBegun(tenantId))) throw notFound('tenant', tenantId)
    if (tenant && tenant.name !== name)
      throw conflict(
        `The name of tenant '${tenantId}' is not '${name}'. Enter the exact name to delete the tenant and all its data.`,
      )
    await this.deletion.begin(tenantId)
    return { tenantId, files: await this.deletion.finish(tenantId) }
  }

  async #change(actor: Actor, plan: (before: TenantRow) => Partial<TenantRow>): Promise<Tenant> {
    const { tenantId } = actor
    await this.#ledger.change(tenantId, async (tx) => {
      const locked = await tx.$queryRaw<unknown[]>`SELECT 1 FROM tenants WHERE tenant_id = ${tenantId} FOR UPDATE`
      if (locked.length === 0) throw notFound('tenant', tenantId)
      const before = await tx.tenant.findUniqueOrThrow({ where: { tenantId } })
      const after = await tx.tenant.update({ where: { tenantId }, data: { ...plan(before), updatedAt: new Date() } })
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'tenant', tenantId)
      const changed = changesOf(before, after)
      return {
        result: undefined,
        entry: Object.keys(changed).length > 0 ? { audit: [auditOf(actor, 'updated', after, { changed })] } : {},
      }
    })
    this.#forget(tenantId)
    return this.get(actor)
  }

  async #move(
    tenantId: string,
    status: 'active' | 'suspended',
    action: AuditRow['action'],
  ): Promise<{ tenantId: string; status: string }> {
    if (!isId('ten', tenantId)) throw notFound('tenant', tenantId)
    if (await this.deletion.isBegun(tenantId)) throw conflict(`Tenant '${tenantId}' is being deleted and cannot be changed.`)
    return this.#ledger.change(tenantId, async (tx) => {
      const locked = await tx.$queryRaw<unknown[]>`SELECT 1 FROM tenants WHERE tenant_id = ${tenantId} FOR UPDATE`
      if (locked.length === 0) throw notFound('tenant', tenantId)
      const before = await tx.tenant.findUniqueOrThrow({ where: { tenantId } })
      if (before.status === status) throw conflict(`Tenant '${tenantId}' is already ${status}.`)
      const after = await tx.tenant.update({ where: { tenantId }, data: { status, updatedAt: new Date() } })
      await announce({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, 'tenant', tenantId)
      return {
        result: { tenantId, status },
        entry: { audit: [auditOf(systemActor(tenantId), action, after, { previous_status: before.status, new_status: status })] },
      }
    })
  }
}

type TenantRow = Awaited<ReturnType<Database['prisma']['tenant']['findMany']>>[number]

const audited = {
  name: 'name',
  storageQuotaMb: 'storage_quota_mb',
  storageQuotaCeilingMb: 'storage_quota_ceiling_mb',
  secondFactorRequired: 'second_factor_required',
} as const satisfies Partial<Record<keyof TenantRow, string>>

function changesOf(before: TenantRow, after: TenantRow): Record<string, unknown> {
  const fields = Object.keys(audited) as (keyof typeof audited)[]
  return Object.fromEntries(
    fields
      .filter((field) => before[field] !== after[field])
      .map((field) => [audited[field], { previous: before[field], new: after[field] }]),
  )
}

function refuseQuota(quotaMb: number): void {
  if (!(Number.isInteger(quotaMb) && quotaMb >= 1 && quotaMb <= 2_147_483_647))
    throw badUserInput([{ field: 'quota-mb', message: 'must be between 1 and 2147483647' }])
}

const auditOf = (
  actor: Actor,
  action: AuditRow['action'],
  tenant: { tenantId: string; name: string },
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  tenantId: tenant.tenantId,
  auditType: 'tenant',
  action,
  entityType: 'tenant',
  entityId: tenant.tenantId,
  entityName: tenant.name,
  details,
})
