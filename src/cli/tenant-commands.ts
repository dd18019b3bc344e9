import { createSystemActor, scopes } from '../platform/actor.js'
import { toSingleLine } from '../platform/text.js'
import { type Command, pickFields, text, UsageError } from './command.js'

const progressMs = 5_000

const createStatusCommand = (change: 'suspend' | 'resume'): Command => ({
  usage: `tenant ${change} --tenant TEN`,
  options: { tenant: text },
  required: ['tenant'],
  run: async ({ services }, values) => ({
    result: pickFields(await services.tenants[change](String(values.tenant)), ['tenantId', 'status']),
  }),
})

export const tenantCommands: Record<string, Command> = {
  'tenant create': {
    usage: 'tenant create --name NAME [--quota-mb N]',
    options: { name: text, 'quota-mb': text },
    required: ['name'],
    run: async ({ services }, values) => {
      const name = toSingleLine(String(values.name))
      const quotaMb = values['quota-mb'] === undefined ? undefined : parseWholeNumber('quota-mb', String(values['quota-mb']))
      const { tenantId } = await services.tenants.create({ name, ...(quotaMb !== undefined && { quotaMb }) })
      const key = await services.apiKeys.create(createSystemActor(tenantId), { name: 'First key', scopes: [...scopes] })
      return { result: { tenant_id: tenantId, name, api_key_id: key.apiKeyId, api_key: key.apiKey } }
    },
  },

  'tenant list': {
    usage: 'tenant list',
    options: {},
    run: async ({ services }) => {
      const fields = ['tenantId', 'name', 'status', 'storageQuotaMb', 'storageUsedBytes', 'createdAt'] as const
      return { result: { tenants: (await services.tenants.list()).map((tenant) => pickFields(tenant, fields)) } }
    },
  },

  'tenant quota': {
    usage: 'tenant quota --tenant TEN --mb N (tenant admins cannot set a higher quota)',
    options: { tenant: text, mb: text },
    required: ['tenant', 'mb'],
    run: async ({ services }, values) => {
      const tenant = await services.tenants.setQuota(String(values.tenant), parseWholeNumber('mb', String(values.mb)))
      return { result: pickFields(tenant, ['tenantId', 'storageQuotaMb']) }
    },
  },

  'tenant suspend': createStatusCommand('suspend'),
  'tenant resume': createStatusCommand('resume'),

  'tenant delete': {
    usage: "tenant delete --tenant TEN --name NAME (NAME must match the tenant's name)",
    options: { tenant: text, name: text },
    required: ['tenant', 'name'],
    run: async ({ services, print }, values) => {
      const began = performance.now()
      const timer = setInterval(() => {
        const { files, rows } = services.tenants.deletion.progress
        const seconds = Math.round((performance.now() - began) / 1000)
        print(`Deleted ${files} files and ${rows} other rows in ${seconds} s.`)
      }, progressMs)
      const { tenantId, files } = await services.tenants
        .delete(String(values.tenant), String(values.name))
        .finally(() => clearInterval(timer))
      return { result: { tenant_id: tenantId, deleted: true, files } }
    },
  },
}

function parseWholeNumber(option: string, value: string): number {
  if (!/^\d{1,10}$/.test(value))
    throw new UsageError(`--${option} is '${value}'. It must be a whole number of megabytes, such as 1024.`)
  return Number(value)
}
