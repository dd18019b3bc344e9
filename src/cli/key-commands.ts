import { isScope, scopes, systemActor } from '../platform/actor.js'
import { plainLine } from '../platform/text.js'
import { type Command, UsageFault } from './command.js'

const text = { type: 'string' } as const

export const keyCommands: Record<string, Command> = {
  'key create': {
    usage: 'key create --tenant TEN [--name NAME] [--scopes a,b] (default: all scopes)',
    options: { tenant: text, name: text, scopes: text },
    required: ['tenant'],
    run: async ({ services }, given) => {
      const asked =
        given.scopes === undefined
          ? [...scopes]
          : String(given.scopes)
              .split(',')
              .map((scope) => scope.trim())
      const unknown = asked.find((scope) => !isScope(scope))
      if (unknown !== undefined)
        throw new UsageFault(`--scopes contains '${unknown}'. It must contain one or more of ${scopes.join(', ')}.`)
      const name = given.name === undefined ? 'Key of the operator' : plainLine(String(given.name))
      if (name.length < 1 || name.length > 255) throw new UsageFault('--name must have 1 to 255 characters.')
      const { tenantId } = await services.tenants.get(systemActor(String(given.tenant)))
      const made = await services.apiKeys.create(systemActor(tenantId), { name, scopes: asked.filter(isScope) })
      return { result: { tenant_id: tenantId, api_key_id: made.apiKeyId, name, scopes: made.scopes, api_key: made.apiKey } }
    },
  },
}
