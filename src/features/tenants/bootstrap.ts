import { generateApiKeySecret } from '../../access/secrets.js'
import { createSystemActor, scopes } from '../../platform/actor.js'
import type { Config } from '../../platform/config/config.js'
import type { Database } from '../../platform/db/client.js'
import { saveState, withDedicatedClient } from '../../platform/db/queries.js'
import { getSqlErrorKind } from '../../platform/db/sql-errors.js'
import type { FirstRun } from '../../platform/processes/messages.js'
import type { ApiKeyService } from '../api-keys/api-key.service.js'
import type { SignInService } from '../users/sign-in.service.js'
import type { UserService } from '../users/user.service.js'
import type { TenantService } from './tenant.service.js'

// Key of an advisory lock. If several replicas start on an empty database, only one of them creates the first tenant.
const bootstrapLock = 4_207_002

/** On the first start, creates a tenant, an API key and a dashboard user. On later starts, returns undefined. */
export async function bootstrap(
  config: Config,
  database: Database,
  services: { tenants: TenantService; apiKeys: ApiKeyService; users: UserService; signIns: SignInService },
): Promise<FirstRun | undefined> {
  if (await isBootstrapped(database)) return undefined
  return withDedicatedClient(database, 'assay bootstrap', async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [bootstrapLock])
    if (await isBootstrapped(database)) return undefined
    await saveState(client, stateKey, { done: false })
    const { rows } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenants ORDER BY tenant_id LIMIT 1')
    // An earlier start may have been killed after it created the tenant, so use an existing tenant.
    const tenantId = rows[0]?.tenant_id ?? (await services.tenants.create({ name: 'Default' })).tenantId
    const actor = createSystemActor(tenantId)
    const { apiKey: configuredSecret, adminEmail, adminPassword } = config.bootstrap
    const secret = configuredSecret ?? generateApiKeySecret()
    // Ignore a duplicate if the secret is configured, because an earlier start that was killed may already have created this key.
    await services.apiKeys.create(actor, { name: 'First key', scopes: [...scopes] }, { secret }).catch((error) => {
      if (!configuredSecret || getSqlErrorKind(error) !== 'duplicate') throw error
    })
    const { user, password } = await services.users.create(actor, {
      email: adminEmail,
      name: 'Administrator',
      scopes: [...scopes],
      password: adminPassword ?? null,
    })
    await saveState(client, stateKey, { done: true })
    const welcome = await services.signIns.createWelcomeToken(user.userId)
    return { apiKey: configuredSecret ? undefined : secret, adminEmail, adminPassword: password ?? undefined, welcome }
  })
}

const stateKey = 'first_start'

// Also returns true if the CLI created a tenant before the first start. Uses plain SQL, because loading Prisma's engine would
// delay every start.
async function isBootstrapped({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query<{ done: boolean }>(
    `SELECT COALESCE((SELECT (value->>'done')::boolean FROM service_state WHERE key = $1), EXISTS (SELECT FROM tenants)) AS done`,
    [stateKey],
  )
  return rows[0]!.done
}
