import { findPasswordError } from '../access/passwords.js'
import { findFieldErrors } from '../api/graphql/rules.js'
import type { Services } from '../features/services.js'
import { InviteUserInput, type User } from '../features/users/user.types.js'
import { isScope, scopes } from '../platform/actor.js'
import { toSingleLine } from '../platform/text.js'
import { type Command, findTenantActor, flag, pickFields, splitList, text, UsageError } from './command.js'

export const userCommands: Record<string, Command> = {
  'user create': {
    usage: 'user create --tenant TEN --email E --name N --scopes a,b [--password P]',
    options: { tenant: text, email: text, name: text, scopes: text, password: text },
    required: ['tenant', 'email', 'name', 'scopes'],
    run: async (context, { tenant, email, name, scopes: requested, password: chosen }) => {
      const input = Object.assign(new InviteUserInput(), {
        email,
        name,
        scopes: splitList(requested),
        ...(chosen !== undefined && { password: chosen }),
      })
      assertValidInput(input)
      // Report an unknown tenant here, because the database's foreign key error would not name the tenant.
      const actor = await findTenantActor(context, tenant)
      const created = await context.services.users.create(actor, input)
      const password = created.password === null ? {} : { password: created.password }
      return { result: { ...pickFields(created.user, ['userId', 'email']), ...password } }
    },
  },

  'user set-password': {
    usage: 'user set-password --tenant TEN --email E [--password P] [--remove-second-factor]',
    options: { tenant: text, email: text, password: text, 'remove-second-factor': flag },
    required: ['tenant', 'email'],
    run: async (context, values) => {
      const { services } = context
      const actor = await findTenantActor(context, values.tenant)
      const { userId, email } = await services.users.getByEmail(actor, String(values.email))
      const password = typeof values.password === 'string' ? values.password : undefined
      const passwordError = password === undefined ? undefined : findPasswordError(password)
      if (passwordError) throw new UsageError(`--password ${passwordError}.`)
      if (values['remove-second-factor']) await services.secondFactors.reset(actor, userId)
      if (password !== undefined) await services.users.setPassword(actor, userId, password)
      const created = password === undefined ? await services.users.resetPassword(actor, userId) : undefined
      return { result: { user_id: userId, email, ...(created && { password: created.password }) } }
    },
  },

  'user list': {
    usage: 'user list --tenant TEN',
    options: { tenant: text },
    required: ['tenant'],
    run: async (context, values) => {
      const { tenantId } = await findTenantActor(context, values.tenant)
      const fields = ['userId', 'email', 'name', 'scopes', 'status', 'createdAt'] as const
      const users = await listAllUsers(context.services, tenantId)
      return { result: { users: users.map((user) => pickFields(user, fields)) } }
    },
  },

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

function assertValidInput(input: InviteUserInput): void {
  const errors = findFieldErrors(input)
  if (errors.length === 0) return
  const sentences = errors.map(({ field, message }) => `--${field} ${message}`)
  throw new UsageError(`${sentences.join('; ')}.`)
}

async function listAllUsers(services: Services, tenantId: string): Promise<User[]> {
  const users: User[] = []
  for (let page = 1; ; page++) {
    const { data, pagination } = await services.users.list(tenantId, { page, pageSize: 100 })
    users.push(...data)
    if (!pagination.hasNext) return users
  }
}
