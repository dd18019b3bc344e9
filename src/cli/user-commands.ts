import { passwordFault } from '../access/passwords.js'
import { findFaults } from '../api/graphql/rules.js'
import type { Services } from '../features/services.js'
import { InviteUserInput, type User } from '../features/users/user.types.js'
import { systemActor } from '../platform/actor.js'
import { type Command, UsageFault } from './command.js'

const text = { type: 'string' } as const

export const userCommands: Record<string, Command> = {
  'user create': {
    usage: 'user create --tenant TEN --email E --name N --scopes a,b [--password P]',
    options: { tenant: text, email: text, name: text, scopes: text, password: text },
    required: ['tenant', 'email', 'name', 'scopes'],
    run: async ({ services }, { tenant, email, name, scopes, password }) => {
      const input = Object.assign(new InviteUserInput(), {
        email,
        name,
        scopes: String(scopes)
          .split(',')
          .map((scope) => scope.trim()),
        ...(password !== undefined && { password }),
      })
      refuseFaults(input)
      // Throws "No tenant …" rather than what a foreign key says.
      const actor = systemActor((await services.tenants.get(systemActor(String(tenant)))).tenantId)
      const made = await services.users.create(actor, input)
      const { userId, email: kept } = made.user
      return { result: { user_id: userId, email: kept, ...(made.password !== null && { password: made.password }) } }
    },
  },

  'user set-password': {
    usage: 'user set-password --tenant TEN --email E [--password P] [--remove-second-factor]',
    options: { tenant: text, email: text, password: text, 'remove-second-factor': { type: 'boolean' } },
    required: ['tenant', 'email'],
    run: async ({ services }, given) => {
      const actor = systemActor((await services.tenants.get(systemActor(String(given.tenant)))).tenantId)
      const { userId, email } = await services.users.getByEmail(actor, String(given.email))
      const password = typeof given.password === 'string' ? given.password : undefined
      const fault = password === undefined ? undefined : passwordFault(password)
      if (fault) throw new UsageFault(`--password ${fault}.`)
      if (given['remove-second-factor']) await services.secondFactors.reset(actor, userId)
      if (password !== undefined) await services.users.setPassword(actor, userId, password)
      const made = password === undefined ? await services.users.resetPassword(actor, userId) : undefined
      return { result: { user_id: userId, email, ...(made && { password: made.password }) } }
    },
  },

  'user list': {
    usage: 'user list --tenant TEN',
    options: { tenant: text },
    required: ['tenant'],
    run: async ({ services }, given) => {
      const { tenantId } = await services.tenants.get(systemActor(String(given.tenant)))
      const users = await all(services, tenantId)
      return {
        result: {
          users: users.map((user) => ({
            user_id: user.userId,
            email: user.email,
            name: user.name,
            scopes: user.scopes,
            status: user.status,
            created_at: user.createdAt,
          })),
        },
      }
    },
  },
}

function refuseFaults(input: InviteUserInput): void {
  const faults = findFaults(input)
  if (faults.length === 0) return
  const sentences = faults.map(({ field, message }) => `--${field} ${message}`)
  throw new UsageFault(`${sentences.join('; ')}.`)
}

async function all(services: Services, tenantId: string): Promise<User[]> {
  const found: User[] = []
  for (let page = 1; ; page++) {
    const { data, pagination } = await services.users.list(tenantId, { page, pageSize: 100 })
    found.push(...data)
    if (!pagination.hasNext) return found
  }
}
