import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { Pool } from 'pg'
import { MasterKey } from '../../src/access/master-key.js'
import { createEd25519Key, getSigningKeyLabel, StoredSigningSecrets } from '../../src/access/signing-secrets.js'
import { newId } from '../../src/platform/ids.js'

test('loads signing keys from a slow database with one query at a time', async () => {
  const masterKey = new MasterKey([randomBytes(32)])
  const id = newId('sig')
  const { secret, publicJwk } = createEd25519Key(id)
  const row = {
    key_id: id,
    secret_encrypted: masterKey.encrypt(secret, getSigningKeyLabel('session', id)),
    public_jwk: publicJwk,
    retired_at: null,
    expires_at: null,
  }
  const queries = { running: 0, maxRunning: 0 }
  const query = async () => {
    queries.maxRunning = Math.max(queries.maxRunning, ++queries.running)
    await sleep(700)
    queries.running--
    return { rows: [row] }
  }
  const secrets = new StoredSigningSecrets({
    pool: { query } as unknown as Pool,
    masterKey,
    // While the database is slow, the cached keys are not trusted.
    trust: { isTrusted: () => false },
    purpose: 'session',
    createKey: createEd25519Key,
    lifetimeSeconds: 60,
  })
  const lookups: Promise<string>[] = []
  for (let count = 0; count < 12; count++) {
    lookups.push(secrets.getCurrentKey().then((key) => key.id))
    await sleep(50)
  }
  expect(await Promise.all(lookups)).toEqual(Array(12).fill(id))
  expect(queries.maxRunning).toBe(1)
})
