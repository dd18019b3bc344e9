import { createSystemActor, isScope, scopes } from '../platform/actor.js'
import { toSingleLine } from '../platform/text.js'
import { type Command, UsageError } from './command.js'

const text = { type: 'string' } as const

export const keyCommands: Record<string, Command> = {
  'key create': {
    usage: 'key create --tenant TEN [--name NAME] [--scopes a,b] (default: all scopes)',
    options: { tenant: text, name: text, scopes: text },
    required: ['tenant'],
    run: async ({ services }, values) => {
      const requested =
        values.scopes === undefined
          ? [...scopes]
          : String(values.scopes)
              .split(',')
              .map((scope) => scope.trim())
      const unknown = requested.find((scope) => !isScope(scope))
      if (unknown !== undefined)
        throw new UsageError(`--scopes contains the unknown scope '${unknown}'. Use one or more of ${scopes.join(', ')}.`)
      const name = values.name === undefined ? 'Key of the operator' : toSingleLine(String(values.name))
      if (name.length < 1 || name.length > 255) throw new UsageError('--name must have 1 to 255 characters.')
      const { tenantId } = await services.tenants.get(createSystemActor(String(values.tenant)))
      const key = await services.apiKeys.create(createSystemActor(tenantId), { name, scopes: requested.filter(isScope) })
      return { result: { tenant_id: tenantId, api_key_id: key.apiKeyId, name, scopes: key.scopes, api_key: key.apiKey } }
    },
  },
}
