import { scopes, systemActor } from '../platform/actor.js'
import { plainLine } from '../platform/text.js'
import { type Command, UsageFault } from './command.js'

const text = { type: 'string' } as const

export const tenantCommands: Record<string, Command> = {
  'tenant create': {
    usage: 'tenant create --name NAME [--quota-mb N]',
    options: { name: text, 'quota-mb': text },
    required: ['name'],
    run: async ({ services }, given) => {
      const name = plainLine(String(given.name))
      const quotaMb = given['quota-mb'] === undefined ? undefined : wholeNumber('quota-mb', String(given['quota-mb']))
      const { tenantId } = await services.tenants.create({ name, ...(quotaMb !== undefined && { quotaMb }) })
      const key = await services.apiKeys.create(systemActor(tenantId), { name: 'First key', scopes: [...scopes] })
      return { result: { tenant_id: tenantId, name, api_key_id: key.apiKeyId, api_key: key.apiKey } }
    },
  },

  'tenant list': {
    usage: 'tenant list',
    options: {},
    run: async ({ services }) => {
      const tenants = await services.tenants.list()
      return {
        result: {
          tenants: tenants.map((tenant) => ({
            tenant_id: tenant.tenantId,
            name: tenant.name,
            status: tenant.status,
            storage_quota_mb: tenant.storageQuotaMb,
            storage_used_bytes: tenant.storageUsedBytes,
            created_at: tenant.createdAt,
          })),
        },
      }
    },
  },

  'tenant quota': {
    usage: 'tenant quota --tenant TEN --mb N (also the maximum that admins of the tenant can set)',
    options: { tenant: text, mb: text },
    required: ['tenant', 'mb'],
    run: async ({ services }, given) => {
      const { tenantId, storageQuotaMb } = await services.tenants.setQuota(
        String(given.tenant),
        wholeNumber('mb', String(given.mb)),
      )
      return { result: { tenant_id: tenantId, storage_quota_mb: storageQuotaMb } }
    },
  },

  'tenant suspend': {
    usage: 'tenant suspend --tenant TEN',
    options: { tenant: text },
    required: ['tenant'],
    run: async ({ services }, given) => moved(await services.tenants.suspend(String(given.tenant))),
  },

  'tenant resume': {
    usage: 'tenant resume --tenant TEN',
    options: { tenant: text },
    required: ['tenant'],
    run: async ({ services }, given) => moved(await services.tenants.resume(String(given.tenant))),
  },

  'tenant delete': {
    usage: 'tenant delete --tenant TEN --name NAME (the name confirms the deletion)',
    options: { tenant: text, name: text },
    required: ['tenant', 'name'],
    run: async ({ services }, given) => {
      const { tenantId, files } = await services.tenants.delete(String(given.tenant), String(given.name))
      return { result: { tenant_id: tenantId, deleted: true, files } }
    },
  },
}

const moved = ({ tenantId, status }: { tenantId: string; status: string }) => ({ result: { tenant_id: tenantId, status } })

function wholeNumber(option: string, value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new UsageFault(`--${option} is '${value}'. It must be a whole number of megabytes.`)
  return Number(value)
}
