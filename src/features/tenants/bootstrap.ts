import { newApiKeySecret } from '../../access/secrets.js'
import { scopes, systemActor } from '../../platform/actor.js'
import type { Config } from '../../platform/config/config.js'
import type { Database } from '../../platform/db/client.js'
import { sqlFault } from '../../platform/db/sql-errors.js'
import type { FirstRun } from '../../platform/processes/application.js'
import type { ApiKeyService } from '../api-keys/api-key.service.js'
import type { UserService } from '../users/user.service.js'
import type { WelcomeService } from '../users/welcome.service.js'
import type { TenantService } from './tenant.service.js'

// Any constant of our own: of several replicas that start at once on an empty database, one makes the first tenant.
const bootstrapLock = 4_207_002

/** The first start makes a tenant, a key and a dashboard user, and no context (contract §5). Undefined where there is a tenant. */
export async function bootstrap(
  config: Config,
  database: Database,
  rooms: { tenants: TenantService; apiKeys: ApiKeyService; users: UserService; welcomes: WelcomeService },
): Promise<FirstRun | undefined> {
  if (await isDone(database)) return undefined
  const client = await database.dedicated('assay bootstrap')
  try {
    await client.query('SELECT pg_advisory_lock($1)', [bootstrapLock])
    if (await isDone(database)) return undefined
    await note(database, { done: false })
    const { rows } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id LIMIT 1')
    // A tenant without a user: the last start was killed in between. What it had made is completed.
    const tenantId = rows[0]?.tenant_id ?? (await rooms.tenants.create({ name: 'Default' })).tenantId
    const actor = systemActor(tenantId)
    const { apiKey: chosen, adminEmail, adminPassword } = config.bootstrap
    const secret = chosen ?? newApiKeySecret()
    // The last start may have been killed after it had made this very key, where the operator chose its secret.
    await rooms.apiKeys.create(actor, { name: 'First key', scopes: [...scopes] }, { secret }).catch((error) => {
      if (!chosen || sqlFault(error) !== 'duplicate') throw error
    })
    const { user, password } = await rooms.users.create(actor, {
      email: adminEmail,
      name: 'Administrator',
      scopes: [...scopes],
      password: adminPassword ?? null,
    })
    await note(database, { done: true })
    const welcome = await rooms.welcomes.invite(user.userId)
    return { apiKey: chosen ? undefined : secret, adminEmail, adminPassword: password ?? undefined, welcome }
  } finally {
    await client.end()
  }
}

const stateKey = 'first_start'

// A tenant alone tells nothing: the operator's command line may have made it before the service was ever started.
// Not by Prisma, whose engine is loaded by the first call that needs it.
async function isDone({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query<{ done: boolean }>(
    `SELECT COALESCE((SELECT (value->>'done')::boolean FROM service_state WHERE key = $1), EXISTS (SELECT FROM tenants)) AS done`,
    [stateKey],
  )
  return rows[0]!.done
}

async function note({ prisma }: Database, value: { done: boolean }): Promise<void> {
  const updatedAt = new Date()
  await prisma.serviceState.upsert({
    where: { key: stateKey },
    create: { key: stateKey, value, updatedAt },
    update: { value, updatedAt },
  })
}
