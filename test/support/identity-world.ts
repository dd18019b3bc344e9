import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Scope } from '../../src/auth/actor.js'
import { Identity, type IdentityOptions } from '../../src/auth/identity.js'
import type { IdentityKind } from '../../src/auth/identity-cache.js'
import { announce } from '../../src/auth/identity-listener.js'
import type { ApiKeyRecord, LoadApiKey, RehashApiKey } from '../../src/auth/key-directory.js'
import { MasterKey } from '../../src/auth/master-key.js'
import { keyPrefixOf, newApiKeySecret } from '../../src/auth/secrets.js'
import type { SessionRecord } from '../../src/auth/token-record.js'
import { newId } from '../../src/ids.js'
import { testDatabase } from './database.js'

export const origin = { ip: '203.0.113.7', userAgent: 'test' }

/** A database, and identities of several replicas on it. */
export async function identityWorld() {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 10 })
  // The databases of tests are dropped with force; what is left of a connection then has nothing to say.
  pool.on('error', () => {})
  const masterKey = new MasterKey([Buffer.alloc(32, 7)])
  const ends: (() => Promise<void>)[] = []
  const queries = { count: 0 }

  const loadApiKey: LoadApiKey = async (hashes) => {
    queries.count++
    const { rows } = await pool.query(
      `select k.api_key_id, k.tenant_id, k.name, k.scopes::text[] as scopes, k.restricted, k.context_ids, k.status::text, k.expires_at,
              t.status::text as tenant_status, f.previous, k.pepper_id, k.secret_hash, k.previous_pepper_id, k.previous_secret_hash, k.previous_expires_at
         from (select api_key_id, false as previous from api_keys where secret_hash = any($1)
               union all select api_key_id, true from api_keys where previous_secret_hash = any($1)) f
         join api_keys k using (api_key_id) join tenants t using (tenant_id) limit 1`,
      [hashes.map(({ hash }) => hash)],
    )
    const row = rows[0]
    if (!row) return null
    return {
      apiKeyId: row.api_key_id,
      tenantId: row.tenant_id,
      name: row.name,
      scopes: row.scopes,
      contexts: row.restricted ? row.context_ids : null,
      status: row.status,
      expiresAt: row.expires_at,
      tenantStatus: row.tenant_status,
      found: row.previous
        ? { pepperId: row.previous_pepper_id, hash: row.previous_secret_hash }
        : { pepperId: row.pepper_id, hash: row.secret_hash },
      graceEndsAt: row.previous ? row.previous_expires_at : null,
    } satisfies ApiKeyRecord
  }

  const rehashApiKey: RehashApiKey = async ({ apiKeyId, from, to }) => {
    await pool.query(
      `update api_keys set
         pepper_id = case when secret_hash = $2 then $4 else pepper_id end,
         secret_hash = case when secret_hash = $2 then $3 else secret_hash end,
         previous_pepper_id = case when previous_secret_hash = $2 then $4 else previous_pepper_id end,
         previous_secret_hash = case when previous_secret_hash = $2 then $3 else previous_secret_hash end
       where api_key_id = $1`,
      [apiKeyId, from.hash, to.hash, to.pepperId],
    )
  }

  const loadSession = async (sessionId: string): Promise<SessionRecord | null> => {
    queries.count++
    const { rows } = await pool.query(
      `select s.expires_at, s.revoked_at, u.user_id, u.tenant_id, u.name, u.email, u.scopes::text[] as scopes, u.status::text, t.status::text as tenant_status
         from sessions s join users u using (user_id) join tenants t using (tenant_id) where s.session_id = $1`,
      [sessionId],
    )
    const row = rows[0]
    if (!row) return null
    const user = { userId: row.user_id, tenantId: row.tenant_id, name: row.name, email: row.email, scopes: row.scopes }
    return {
      sessionId,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      user: { ...user, status: row.status, tenantStatus: row.tenant_status },
    }
  }

  return {
    pool,
    url: database.url,
    masterKey,
    queries,

    async replica(options: Partial<IdentityOptions> = {}): Promise<Identity> {
      const identity = new Identity({
        pool,
        connection: { connectionString: database.url },
        masterKey,
        loadApiKey,
        rehashApiKey,
        loadSession,
        writeKeyUses: async () => {},
        ...options,
      })
      ends.push(() => identity.close())
      await identity.start()
      return identity
    },

    /** A link to PostgreSQL that can be cut, or go dead without a word. */
    async link() {
      const link = await weakLink(database.url)
      ends.push(() => link.close())
      return link
    },

    async tenant(): Promise<string> {
      const id = newId('ten')
      await pool.query("insert into tenants (tenant_id, name, created_at, updated_at) values ($1, 'Ten', now(), now())", [id])
      return id
    },

    async apiKey(
      identity: Identity,
      tenantId: string,
      { scopes = ['upload'], expiresAt = null }: { scopes?: Scope[]; expiresAt?: Date | null } = {},
    ) {
      const secret = newApiKeySecret()
      const { hash, pepperId } = await identity.peppers.hash(secret)
      const id = newId('key')
      await pool.query(
        `insert into api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, pepper_id, scopes, expires_at, created_by, created_at, updated_at)
         values ($1, $2, 'Key', $3, $4, $5, $6::scope[], $7, 'system', now(), now())`,
        [id, tenantId, keyPrefixOf(secret), hash, pepperId, scopes, expiresAt],
      )
      return { id, secret }
    },

    async session(tenantId: string) {
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

    /** A change as a room makes it on another replica: statement and announcement in one transaction. */
    async change(kind: IdentityKind, id: string, sql: string): Promise<void> {
      const client = await pool.connect()
      await client.query('begin')
      await client.query(sql, [id])
      await announce(client, kind, id)
      await client.query('commit')
      client.release()
    },

    async end(): Promise<void> {
      for (const end of ends.reverse()) await end()
      await pool.end()
      await database.drop()
    },
  }
}

/** Waits for what will be so in a moment; gives up before the test's own time limit, so that nothing goes on after it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 15_000
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`It never came to be so: ${holds}`)
    await sleep(10)
  }
}

async function weakLink(url: string) {
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
    /** Nothing passes any more, and nobody is told. */
    goMute() {
      mute = true
    },
    /** New connections pass again. The old ones, whose bytes were lost, end: TCP would never go on without them. */
    heal() {
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
