import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import pg from 'pg'
import type { Identity } from '../../src/access/identity.js'
import { validityMs } from '../../src/access/identity-listener.js'
import { MasterKey } from '../../src/access/master-key.js'
import { reencryptSecrets } from '../../src/access/reencrypt.js'
import { generateApiKeySecret, hashSecret } from '../../src/access/secrets.js'
import { setClock } from '../../src/platform/clock.js'
import { signingPurposes } from '../../src/platform/signing-keys.js'
import { openIdentityWorld, origin, waitUntil } from '../support/identity-world.js'

let world: Awaited<ReturnType<typeof openIdentityWorld>>
let here: Identity
let tenantId: string

beforeAll(async () => {
  world = await openIdentityWorld()
  here = await world.openReplica()
  tenantId = await world.createTenant()
})
afterAll(() => world.close())

const authenticate = (identity: Identity, secret: string) =>
  identity.authenticate(['Host', 'x', 'Authorization', `Bearer ${secret}`], origin)
const disable = "update api_keys set status = 'disabled' where api_key_id = $1"

describe('API key authentication', () => {
  test("authenticates an API key as an actor with the client's IP address and user agent", async () => {
    const key = await world.createApiKey(tenantId, { scopes: ['upload', 'metadata'] })
    expect(await authenticate(here, key.secret)).toEqual({
      outcome: 'actor',
      actor: {
        tenantId,
        kind: 'api_key',
        id: key.id,
        name: 'Key',
        email: null,
        scopes: ['upload', 'metadata'],
        contexts: null,
        ...origin,
      },
    })
  })

  test('authenticates a cached API key without a database query', async () => {
    const key = await world.createApiKey(tenantId)
    // Polls because a machine that stalls for a second causes additional lookups.
    await waitUntil(async () => {
      await waitUntil(() => here.listener.isTrusted())
      await authenticate(here, key.secret)
      const before = world.queries.count
      for (let call = 0; call < 100; call++) expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'actor' })
      return world.queries.count === before
    })
  })

  test.each([
    [
      'disabled',
      "update api_keys set status = 'disabled' where api_key_id = $1",
      'This API key is disabled. Use an active API key.',
    ],
    [
      'revoked',
      "update api_keys set status = 'revoked' where api_key_id = $1",
      'This API key is revoked. Use an active API key.',
    ],
    [
      'expired',
      "update api_keys set expires_at = now() - interval '1 second' where api_key_id = $1",
      'This API key has expired. Create a new API key.',
    ],
  ])('rejects an API key that is %s and reports which key it is', async (_, sql, message) => {
    const key = await world.createApiKey(tenantId)
    await authenticate(here, key.secret)
    await world.changeAndNotify('api_key', key.id, sql)
    here.forget('api_key', key.id)
    const owner = { tenantId, kind: 'api_key', id: key.id, name: 'Key' }
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'rejected', message, owner })
  })

  test('rejects a cached API key as soon as it expires', async () => {
    const key = await world.createApiKey(tenantId, { expiresAt: new Date(Date.now() + 3_600_000) })
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'actor' })
    setClock(Date.now() + 3_700_000)
    try {
      expect(await authenticate(here, key.secret)).toMatchObject({
        outcome: 'rejected',
        message: 'This API key has expired. Create a new API key.',
      })
    } finally {
      setClock(Date.now())
    }
  })

  test('rejects an unknown API key', async () => {
    expect(await authenticate(here, generateApiKeySecret())).toMatchObject({
      outcome: 'rejected',
      message: 'This API key does not exist. Check that the complete key was sent.',
    })
  })

  test("returns 403 for a suspended tenant's key until the tenant is resumed", async () => {
    const tenant = await world.createTenant()
    const key = await world.createApiKey(tenant)
    await authenticate(here, key.secret)
    await world.changeAndNotify('tenant', tenant, "update tenants set status = 'suspended' where tenant_id = $1")
    here.forget('tenant', tenant)
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'forbidden', owner: { id: key.id } })
    await world.changeAndNotify('tenant', tenant, "update tenants set status = 'active' where tenant_id = $1")
    here.forget('tenant', tenant)
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'actor' })
  })

  test('accepts the old secret of a rotated API key until the grace period ends', async () => {
    const key = await world.createApiKey(tenantId)
    const fresh = generateApiKeySecret()
    const rotate = `update api_keys set previous_secret_hash = secret_hash,
      previous_expires_at = now() + $2::interval, secret_hash = $3 where api_key_id = $1`
    await world.pool.query(rotate, [key.id, '1 hour', hashSecret(fresh)])
    here.forget('api_key', key.id)
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'actor', actor: { id: key.id } })
    expect(await authenticate(here, fresh)).toMatchObject({ outcome: 'actor', actor: { id: key.id } })
    await world.pool.query("update api_keys set previous_expires_at = now() - interval '1 second' where api_key_id = $1", [
      key.id,
    ])
    here.forget('api_key', key.id)
    expect(await authenticate(here, key.secret)).toMatchObject({ outcome: 'rejected', owner: { id: key.id } })
    expect(await authenticate(here, fresh)).toMatchObject({ outcome: 'actor' })
  })
})

describe('Authorization header', () => {
  test.each([
    ['missing', [], 'none'],
    ['two valid headers', ['Authorization', 'Bearer KEY', 'authorization', 'Bearer KEY'], 'rejected'],
    ['the Basic scheme', ['Authorization', 'Basic dTpw'], 'rejected'],
    ['no scheme', ['Authorization', 'KEY'], 'rejected'],
    ['an empty credential', ['Authorization', 'Bearer '], 'rejected'],
    ['two credentials in one', ['Authorization', 'Bearer KEY, Bearer KEY'], 'rejected'],
    ['more than 8 KiB', ['Authorization', `Bearer ${'x'.repeat(100_000)}`], 'rejected'],
    ['the scheme in another letter case', ['AUTHORIZATION', 'bEARER KEY'], 'actor'],
  ])('validates the Authorization header: %s', async (_, headers, outcome) => {
    const key = await world.createApiKey(tenantId)
    const sent = headers.map((part) => part.replaceAll('KEY', key.secret))
    expect(await here.authenticate(sent, origin)).toMatchObject({ outcome })
  })
})

describe('API key caches on two replicas', () => {
  test('rejects a disabled key on all replicas as soon as they receive the notification', async () => {
    const there = await world.openReplica()
    const key = await world.createApiKey(tenantId)
    await waitUntil(() => there.listener.isTrusted())
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'actor' })
    await world.changeAndNotify('api_key', key.id, disable)
    // Waits until the cache is in use, so that a rejection proves that the notification arrived.
    await waitUntil(async () => {
      const { outcome } = await authenticate(there, key.secret)
      return there.listener.isTrusted() && outcome === 'rejected'
    })
  })

  test('bypasses the key cache while the notification connection is broken', async () => {
    const link = await world.openUnreliableUrl()
    const there = await world.openReplica({ connection: link.connection })
    const key = await world.createApiKey(tenantId)
    await waitUntil(() => there.listener.isTrusted())
    await authenticate(there, key.secret)
    link.cut()
    await waitUntil(() => !there.listener.isTrusted())
    await world.pool.query(disable, [key.id])
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'rejected' })
    await waitUntil(() => there.listener.isTrusted())
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'rejected' })
  })

  describe('paused replicas', () => {
    const hold = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * validityMs)

    test('reads pending notifications and keeps the connection when a paused replica resumes', async () => {
      const lost: Error[] = []
      const there = await world.openReplica({ onError: (error) => void lost.push(error) })
      await waitUntil(() => there.listener.isTrusted())
      // A busy machine may delay the first connection, so ignore earlier errors.
      lost.length = 0
      for (let times = 0; times < 3; times++) {
        await waitUntil(() => there.listener.isTrusted())
        hold()
      }
      await waitUntil(() => there.listener.isTrusted())
      expect(lost).toEqual([])
    })

    test('keeps the notification connection if a pause delays its test notification', async () => {
      const echo = 'select pg_notify($1, $2)'
      const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
      const lost: Error[] = []
      let listening: pg.Client | undefined
      let held = 0
      const watched = jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
        const response = query.apply(this, args)
        const [first] = args as [string | { text: string }]
        const text = typeof first === 'string' ? first : first.text
        if (text.startsWith('listen ')) listening ??= this
        if (this === listening && text === echo && ++held <= 2) hold()
        return response
      } as never)
      // A busy machine may delay the first connection, so ignore errors before the listener listens.
      const there = await world.openReplica({ onError: (error) => void (listening && lost.push(error)) })
      await waitUntil(() => lost.length > 0 || (held > 2 && there.listener.isTrusted()))
      watched.mockRestore()
      expect(lost).toEqual([])
    })
  })

  test('detects a silently lost notification connection within a second', async () => {
    expect(validityMs).toBeLessThan(1_000)
    const link = await world.openUnreliableUrl()
    const there = await world.openReplica({ connection: link.connection })
    const key = await world.createApiKey(tenantId)
    await waitUntil(() => there.listener.isTrusted())
    await authenticate(there, key.secret)
    link.stall()
    await world.changeAndNotify('api_key', key.id, disable)
    await sleep(validityMs)
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'rejected' })
    link.recover()
    await waitUntil(() => there.listener.isTrusted())
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'rejected' })
  })
})

describe('missed key changes', () => {
  test('applies missed key changes when a replica receives notifications again', async () => {
    const link = await world.openUnreliableUrl()
    const there = await world.openReplica({ connection: link.connection })
    const key = await world.createApiKey(tenantId)
    await waitUntil(() => there.listener.isTrusted())
    await authenticate(there, key.secret)
    link.stall()
    await world.changeAndNotify('api_key', key.id, disable)
    await waitUntil(() => !there.listener.isTrusted())
    link.recover()
    await waitUntil(() => there.listener.isTrusted())
    expect(await authenticate(there, key.secret)).toMatchObject({ outcome: 'rejected' })
  })
})

describe('rotation of master and signing keys', () => {
  test('keeps API keys and secrets valid if MASTER_KEY changes', async () => {
    const key = await world.createApiKey(tenantId)
    const before = await here.signing.download_url.getCurrentKey()
    const renewed = Buffer.alloc(32, 9)
    const old = Buffer.alloc(32, 7)
    const both = new MasterKey([renewed, old])
    expect(await reencryptSecrets(world.pool, both)).toBe(signingPurposes.length)
    expect(await reencryptSecrets(world.pool, both)).toBe(0)
    const later = await world.openReplica({ masterKey: new MasterKey([renewed]) })
    expect(await later.signing.download_url.getCurrentKey()).toMatchObject({ id: before.id, secret: before.secret })
    expect(await authenticate(later, key.secret)).toMatchObject({ outcome: 'actor' })
    await reencryptSecrets(world.pool, new MasterKey([old, renewed]))
  })

  test('uses the same keys on replicas that start at the same time', async () => {
    await world.pool.query('delete from signing_keys where purpose = $1', ['download_url'])
    const replicas = await Promise.all([world.openReplica(), world.openReplica(), world.openReplica()])
    const ids = await Promise.all(replicas.map(async (replica) => (await replica.signing.download_url.getCurrentKey()).id))
    expect(new Set(ids).size).toBe(1)
  })

  test('accepts URLs signed with a rotated download key, but not with a leaked key', async () => {
    const old = await here.signing.download_url.getCurrentKey()
    await here.signing.download_url.rotate()
    const next = await here.signing.download_url.getCurrentKey()
    expect(next.id).not.toBe(old.id)
    expect(await here.signing.download_url.findKey(old.id)).toMatchObject({ id: old.id, secret: old.secret })
    await here.signing.download_url.rotate({ leaked: true })
    expect(await here.signing.download_url.findKey(old.id)).toBeUndefined()
    expect(await here.signing.download_url.findKey(next.id)).toBeUndefined()
    expect(await here.signing.download_url.findKey("sig_'; drop table signing_keys")).toBeUndefined()
  })
})

describe('last use of API keys', () => {
  test('records the last use of each API key in batches', async () => {
    const writes: { apiKeyId: string; at: Date }[][] = []
    const replica = await world.openReplica({ writeKeyUses: async (uses) => void writes.push(uses) })
    const key = await world.createApiKey(tenantId)
    for (let call = 0; call < 20; call++) await authenticate(replica, key.secret)
    expect(replica.lastUsed.getLastUsedAt(key.id, null)).toBeInstanceOf(Date)
    await replica.lastUsed.flush()
    await replica.lastUsed.flush()
    expect(writes).toEqual([[{ apiKeyId: key.id, at: expect.any(Date) }]])
  })

  test("never replaces the time of an API key's last use with an earlier time", async () => {
    const replica = await world.openReplica()
    const key = await world.createApiKey(tenantId)
    await authenticate(replica, key.secret)
    const used = replica.lastUsed.getLastUsedAt(key.id, null)!
    await replica.lastUsed.flush()
    for (const readBefore of [null, new Date(used.getTime() - 1)])
      expect(replica.lastUsed.getLastUsedAt(key.id, readBefore)).toEqual(used)
    const later = new Date(used.getTime() + 1)
    expect(replica.lastUsed.getLastUsedAt(key.id, later)).toBe(later)
  })
})
