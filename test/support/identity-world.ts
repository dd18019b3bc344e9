import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Identity, type IdentityOptions } from '../../src/access/identity.js'
import type { IdentityKind } from '../../src/access/identity-cache.js'
import { notifyIdentityChange } from '../../src/access/identity-listener.js'
import { MasterKey } from '../../src/access/master-key.js'
import { generateApiKeySecret, getKeyPrefix, hashSecret } from '../../src/access/secrets.js'
import { createApiKeyLoader } from '../../src/features/api-keys/api-key.lookup.js'
import { createSessionLoader } from '../../src/features/users/user.lookup.js'
import type { Scope } from '../../src/platform/actor.js'
import { newId } from '../../src/platform/ids.js'
import { createTestDatabase } from './database.js'

export const origin = { ip: '203.0.113.7', userAgent: 'test' }

/** Opens a database with the identity services of several replicas. */
export async function openIdentityWorld() {
  const database = await createTestDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 10 })
  // Connection errors are ignored because test databases are dropped with open connections.
  pool.on('error', () => {})
  const masterKey = new MasterKey([Buffer.alloc(32, 7)])
  const ends: (() => Promise<void>)[] = []
  const queries = { count: 0 }

  const countQueries =
    <A, R>(load: (given: A) => Promise<R>) =>
    (value: A) => {
      queries.count++
      return load(value)
    }

  return {
    pool,
    url: database.url,
    masterKey,
    queries,

    async openReplica(options: Partial<IdentityOptions> = {}): Promise<Identity> {
      const identity = new Identity({
        pool,
        connection: { connectionString: database.url },
        masterKey,
        loadApiKey: countQueries(createApiKeyLoader(pool)),
        loadSession: countQueries(createSessionLoader(pool)),
        writeKeyUses: async () => {},
        ...options,
      })
      ends.push(() => identity.close())
      await identity.start()
      return identity
    },

    /** Opens a PostgreSQL connection that a test can close or silently stall. */
    async openUnreliableUrl() {
      const link = await openUnreliableLink(database.url)
      ends.push(() => link.close())
      return link
    },

    async createTenant(): Promise<string> {
      const id = newId('ten')
      await pool.query("insert into tenants (tenant_id, name, created_at, updated_at) values ($1, 'Ten', now(), now())", [id])
      return id
    },

    async createApiKey(
      tenantId: string,
      { scopes = ['upload'], expiresAt = null }: { scopes?: Scope[]; expiresAt?: Date | null } = {},
    ) {
      const secret = generateApiKeySecret()
      const id = newId('key')
      await pool.query(
        `insert into api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, scopes, expires_at, created_by, created_at, updated_at)
         values ($1, $2, 'Key', $3, $4, $5, $6, 'system', now(), now())`,
        [id, tenantId, getKeyPrefix(secret), hashSecret(secret), scopes, expiresAt],
      )
      return { id, secret }
    },

    async startSession(tenantId: string) {
      const userId = newId('usr')
      const sessionId = newId('ses')
      await pool.query(
        `insert into users (user_id, tenant_id, email, name, scopes, created_at, updated_at)
         values ($1, $2, $3, 'Uma', '{metadata}', now(), now())`,
        [userId, tenantId, `${userId}@example.com`],
      )
      await pool.query(
        "insert into sessions (session_id, user_id, created_at, expires_at) values ($1, $2, now(), now() + interval '12 hours')",
        [sessionId, userId],
      )
      return { userId, tenantId, sessionId }
    },

    /** Executes a change as another replica would, with statement and notification in one transaction. */
    async changeAndNotify(kind: IdentityKind, id: string, sql: string): Promise<void> {
      const client = await pool.connect()
      await client.query('begin')
      await client.query(sql, [id])
      await notifyIdentityChange(client, kind, id)
      await client.query('commit')
      client.release()
    },

    async close(): Promise<void> {
      for (const end of ends.reverse()) await end()
      await pool.end()
      await database.drop()
    },
  }
}

/** Polls a condition until shortly before the test's time limit. */
export async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 60_000
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`The condition was not met in time: ${holds}`)
    await sleep(10)
  }
}

async function openUnreliableLink(url: string) {
  const target = new pg.Client({ connectionString: url })
  const { host, port, user, password, database } = target
  const pairs = new Set<{ near: Socket; far: Socket }>()
  let mute = false
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    const pair = { near, far }
    pairs.add(pair)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('data', (bytes) => mute || other.write(bytes))
      one.on('error', () => other.destroy())
      one.on('close', () => {
        other.destroy()
        pairs.delete(pair)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    connection: { host: '127.0.0.1', port: (server.address() as AddressInfo).port, user, password: password ?? '', database },
    /** Stops forwarding bytes without closing connections. */
    stall() {
      mute = true
    },
    /** Forwards new connections again and closes stalled ones, whose bytes were lost. */
    recover() {
      mute = false
      this.cut()
    },
    cut() {
      for (const { near, far } of pairs) {
        near.destroy()
        far.destroy()
      }
    },
    async close() {
      this.cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
