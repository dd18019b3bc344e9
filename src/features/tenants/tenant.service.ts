import { changeIdentity } from '../../access/identity.js'
import { type AuditRow, createAuditRow, createUpdateAuditRows } from '../../ledger/entry.js'
import { type Actor, createSystemActor } from '../../platform/actor.js'
import type { Database } from '../../platform/db/client.js'
import { conflict, invalidField, notFound } from '../../platform/errors/errors.js'
import { getIdTime, isId, newId } from '../../platform/ids.js'
import { megabyte } from '../../platform/units.js'
import type { Components } from '../components.js'
import type { Tenant, UpdateTenantInput } from './tenant.types.js'
import { TenantDeletion } from './tenant-deletion.js'

const tenantColumns = `t.tenant_id AS "tenantId", t.name, t.storage_quota_mb AS "storageQuotaMb", t.storage_quota_ceiling_mb AS "storageQuotaCeilingMb", t.second_factor_required AS "secondFactorRequired",
  coalesce(h.bytes, 0)::bigint AS "storageUsedBytes", t.created_at AS "createdAt", t.updated_at AS "updatedAt"`

/** Manages tenants. Only the operator can create, suspend, resume and delete them. */
export class TenantService {
  readonly deletion: TenantDeletion

  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'identity'>) {
    this.deletion = new TenantDeletion(parts.db)
  }

  async get(actor: Actor): Promise<Tenant> {
    const { rows } = await this.parts.db.pool.query<Tenant>({
      name: 'tenant-by-id',
      text: `SELECT ${tenantColumns} FROM tenants t LEFT JOIN tenant_heads h ON h.tenant_id = $1 WHERE t.tenant_id = $1`,
      values: [actor.tenantId],
    })
    if (!rows[0]) throw notFound('tenant', actor.tenantId)
    return rows[0]
  }

  /** Returns the actor's own tenant. Throws 404 if `tenantId` identifies another tenant. */
  async getById(actor: Actor, tenantId: string): Promise<Tenant> {
    if (tenantId !== actor.tenantId) throw notFound('tenant', tenantId)
    return this.get(actor)
  }

  /** Updates the tenant's settings. Throws 400 if the quota exceeds the maximum that the operator set. */
  update(actor: Actor, input: UpdateTenantInput): Promise<Tenant> {
    return this.#updateTenant(actor, ({ storageQuotaMb, storageQuotaCeilingMb: ceiling }) => {
      const quotaMb = input.storageQuotaMb ?? 0
      // If the current quota exceeds the maximum, it can be lowered to any value, even to one that still exceeds the maximum.
      if (quotaMb > ceiling && quotaMb > storageQuotaMb)
        throw invalidField('storage_quota_mb', `must be at most ${ceiling}, the limit set by the operator`)
      return input
    })
  }

  requireSecondFactor(actor: Actor, secondFactorRequired: boolean): Promise<Tenant> {
    return this.#updateTenant(actor, () => ({ secondFactorRequired }))
  }

  /** Sets the tenant's quota. Its admins cannot raise the quota above this value. */
  setQuota(tenantId: string, quotaMb: number): Promise<Tenant> {
    assertValidQuota(quotaMb)
    return this.#updateTenant(createSystemActor(tenantId), () => ({ storageQuotaMb: quotaMb, storageQuotaCeilingMb: quotaMb }))
  }

  /**
   * Returns the number of bytes left in the tenant's quota. Uploads with a larger Content-Length are rejected before their body
   * is read.
   */
  async getRemainingBytes(tenantId: string): Promise<number> {
    const { quota, held } = await this.getQuota(createSystemActor(tenantId))
    return Math.max(0, quota - held)
  }

  /** Returns the tenant's storage quota and used storage, both in bytes. */
  readonly getQuota = async (actor: Actor): Promise<{ quota: number; held: number }> => {
    const { storageQuotaMb, storageUsedBytes } = await this.get(actor)
    return { quota: storageQuotaMb * megabyte, held: storageUsedBytes }
  }

  async create({ name, quotaMb }: { name: string; quotaMb?: number }): Promise<{ tenantId: string; name: string }> {
    const { length } = [...name]
    if (length < 1 || length > 255 || name.includes('\0')) throw invalidField('name', 'must be a string of 1 to 255 characters')
    if (quotaMb !== undefined) assertValidQuota(quotaMb)
    const tenantId = newId('ten')
    const now = getIdTime(tenantId)
    const quota = quotaMb && { storageQuotaMb: quotaMb, storageQuotaCeilingMb: quotaMb }
    return this.parts.ledger.changeTenant(tenantId, async (tx) => {
      const row = await tx.tenant.create({ data: { tenantId, name, ...quota, createdAt: now, updatedAt: now } })
      await tx.tenantHead.create({ data: { tenantId } })
      const details = { storage_quota_mb: row.storageQuotaMb }
      const audit = createAuditRow(createSystemActor(tenantId), 'created', toTenantEntity(row), details)
      return { result: { tenantId, name }, entry: { audit: [audit] } }
    })
  }

  async list(): Promise<(Tenant & { status: string })[]> {
    const { rows } = await this.parts.db.pool.query<Tenant & { status: string }>(
      `SELECT ${tenantColumns}, t.status FROM tenant_heads h JOIN tenants t ON t.tenant_id = h.tenant_id ORDER BY t.tenant_id`,
    )
    return rows
  }

  /** Suspends a tenant. Its data remains, but all its credentials are rejected with 403. */
  suspend = (tenantId: string) => this.#setStatus(tenantId, 'suspended')
  resume = (tenantId: string) => this.#setStatus(tenantId, 'active')

  /**
   * Deletes a tenant and all its data. As a confirmation, `name` must be the tenant's name. The sweep later deletes the blobs
   * from the store.
   */
  async delete(tenantId: string, name: string): Promise<{ tenantId: string; files: number }> {
    const tenant = isId('ten', tenantId) ? await this.parts.db.prisma.tenant.findUnique({ where: { tenantId } }) : null
    if (!tenant && !(await this.deletion.isStarted(tenantId))) throw notFound('tenant', tenantId)
    if (tenant && tenant.name !== name)
      throw conflict(
        `The name of tenant '${tenantId}' is not '${name}'. Enter the exact name to delete the tenant and all its data.`,
      )
    await this.deletion.startDeletion(tenantId)
    return { tenantId, files: await this.deletion.finishDeletion(tenantId) }
  }

  async #updateTenant(actor: Actor, planChange: (before: TenantRow) => Partial<TenantRow>): Promise<Tenant> {
    await this.#updateRow(actor, planChange, (before, after) =>
      createUpdateAuditRows(actor, toTenantEntity(after), toAuditFields(before), toAuditFields(after)),
    )
    return this.get(actor)
  }

  async #setStatus(tenantId: string, status: 'active' | 'suspended'): Promise<{ tenantId: string; status: string }> {
    if (!isId('ten', tenantId)) throw notFound('tenant', tenantId)
    if (await this.deletion.isStarted(tenantId)) throw conflict(`Tenant '${tenantId}' is being deleted and cannot be changed.`)
    const actor = createSystemActor(tenantId)
    const planStatusChange = (before: TenantRow) => {
      if (before.status === status) throw conflict(`Tenant '${tenantId}' is already ${status}.`)
      return { status }
    }
    const action = status === 'active' ? 'enabled' : 'disabled'
    await this.#updateRow(actor, planStatusChange, (before, after) => [
      createAuditRow(actor, action, toTenantEntity(after), { previous_status: before.status, new_status: status }),
    ])
    return { tenantId, status }
  }

  #updateRow(
    { tenantId }: Actor,
    planChange: (before: TenantRow) => Partial<TenantRow>,
    getAudit: (before: TenantRow, after: TenantRow) => AuditRow[],
  ): Promise<void> {
    return changeIdentity(this.parts, { tenantId, kind: 'tenant', id: tenantId }, async (tx) => {
      const before = await tx.tenant.findUnique({ where: { tenantId } })
      if (!before) throw notFound('tenant', tenantId)
      const after = await tx.tenant.update({ where: { tenantId }, data: { ...planChange(before), updatedAt: new Date() } })
      return { result: undefined, audit: getAudit(before, after) }
    })
  }
}

type TenantRow = Awaited<ReturnType<Database['prisma']['tenant']['findMany']>>[number]

const toAuditFields = (row: TenantRow) => ({
  name: row.name,
  storage_quota_mb: row.storageQuotaMb,
  storage_quota_ceiling_mb: row.storageQuotaCeilingMb,
  second_factor_required: row.secondFactorRequired,
})

function assertValidQuota(quotaMb: number): void {
  if (!(Number.isInteger(quotaMb) && quotaMb >= 1 && quotaMb <= 2_147_483_647))
    throw invalidField('quota-mb', 'must be between 1 and 2147483647')
}

const toTenantEntity = ({ tenantId, name }: TenantRow) => ({ type: 'tenant', id: tenantId, name })
