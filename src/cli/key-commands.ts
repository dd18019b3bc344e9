import { isScope, scopes } from '../platform/actor.js'
import { toSingleLine } from '../platform/text.js'
import { type Command, findTenantActor, pickFields, splitList, text, UsageError } from './command.js'

export const keyCommands: Record<string, Command> = {
  'key create': {
    usage: 'key create --tenant TEN [--name NAME] [--scopes a,b] (default: all scopes)',
    options: { tenant: text, name: text, scopes: text },
    required: ['tenant'],
    run: async (context, values) => {
      const requested = values.scopes === undefined ? [...scopes] : splitList(values.scopes)
      const unknown = requested.find((scope) => !isScope(scope))
      if (unknown !== undefined)
        throw new UsageError(`--scopes contains the unknown scope '${unknown}'. Use one or more of ${scopes.join(', ')}.`)
      const name = values.name === undefined ? 'Key of the operator' : toSingleLine(String(values.name))
      if (name.length < 1 || name.length > 255) throw new UsageError('--name must have 1 to 255 characters.')
      const actor = await findTenantActor(context, values.tenant)
      const key = await context.services.apiKeys.create(actor, { name, scopes: requested.filter(isScope) })
      return { result: { tenant_id: actor.tenantId, ...pickFields(key, ['apiKeyId', 'name', 'scopes', 'apiKey']) } }
    },
  },
}
