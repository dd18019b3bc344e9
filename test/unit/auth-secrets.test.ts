import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { MasterKey, openMasterKey, removeOldMasterKeys, rotateMasterKeyFile } from '../../src/access/master-key.js'
import { findPasswordError, generatePassword, Passwords } from '../../src/access/passwords.js'
import { generateApiKeySecret, getKeyPrefix } from '../../src/access/secrets.js'

const one = Buffer.alloc(32, 1)
const two = Buffer.alloc(32, 2)
const secret = Buffer.from('a private key')

describe('encrypted secrets', () => {
  test('decrypts a secret only with the same key and label', async () => {
    const sealed = new MasterKey([one]).encrypt(secret, 'sig_1')
    expect(sealed.includes(secret)).toBe(false)
    expect(await new MasterKey([one]).decrypt(sealed, 'sig_1')).toEqual(secret)
    await expect(new MasterKey([one]).decrypt(sealed, 'sig_2')).rejects.toThrow(/copied from another row/)
    await expect(new MasterKey([two]).decrypt(sealed, 'sig_1')).rejects.toThrow(/another MASTER_KEY/)
  })

  test('produces different ciphertexts for the same secret', () => {
    const key = new MasterKey([one])
    expect(key.encrypt(secret, 'x')).not.toEqual(key.encrypt(secret, 'x'))
  })

  test('detects any changed bit in an encrypted secret', async () => {
    const key = new MasterKey([one])
    const sealed = key.encrypt(secret, 'x')
    for (let at = 0; at < sealed.length; at++) {
      const bad = Buffer.from(sealed)
      bad[at]! ^= 1
      await expect(key.decrypt(bad, 'x')).rejects.toThrow()
    }
    await expect(key.decrypt(sealed.subarray(0, 20), 'x')).rejects.toThrow(/does not have the expected format/)
  })

  test('reads secrets with the old MASTER_KEY until they are re-encrypted', async () => {
    const old = new MasterKey([one]).encrypt(secret, 'x')
    const both = new MasterKey([two, one])
    expect(both.isCurrent(old)).toBe(false)
    const moved = await both.reencrypt(old, 'x')
    expect(both.isCurrent(moved)).toBe(true)
    expect(await new MasterKey([two]).decrypt(moved, 'x')).toEqual(secret)
  })
})

describe('master key file DATA_DIR/master.key', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'assay-key-')), 'data dir')
  })
  afterEach(() => rm(join(dataDir, '..'), { recursive: true }))

  test('creates only one master key even if many processes start concurrently', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => openMasterKey({ dataDir })))
    const sealed = keys[0]!.encrypt(secret, 'x')
    for (const key of keys) expect(await key.decrypt(sealed, 'x')).toEqual(secret)
    expect((await stat(join(dataDir, 'master.key'))).mode & 0o777).toBe(0o600)
    const before = await readFile(join(dataDir, 'master.key'), 'utf8')
    expect(before).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)
    await openMasterKey({ dataDir })
    expect(await readFile(join(dataDir, 'master.key'), 'utf8')).toBe(before)
  })

  test('decrypts secrets in a running service after a command replaces the master key', async () => {
    const running = await openMasterKey({ dataDir })
    const old = running.encrypt(secret, 'x')
    await rotateMasterKeyFile(dataDir)
    const command = await openMasterKey({ dataDir })
    const moved = await command.reencrypt(old, 'x')
    expect(await running.decrypt(moved, 'x')).toEqual(secret)
    await removeOldMasterKeys(dataDir)
    const later = await openMasterKey({ dataDir })
    expect(await later.decrypt(moved, 'x')).toEqual(secret)
    await expect(later.decrypt(old, 'x')).rejects.toThrow(/another MASTER_KEY/)
  })

  test('reports a damaged key file without replacing it', async () => {
    await openMasterKey({ dataDir })
    await writeFile(join(dataDir, 'master.key'), 'c2hvcnQ=\n')
    await expect(openMasterKey({ dataDir })).rejects.toThrow(/master\.key contains 5 bytes\. It must contain 32/)
    await writeFile(join(dataDir, 'master.key'), '')
    await expect(openMasterKey({ dataDir })).rejects.toThrow(/is empty/)
  })

  test('requires a MASTER_KEY of exactly 32 bytes', async () => {
    await openMasterKey({ masterKey: one, dataDir })
    await expect(stat(dataDir)).rejects.toThrow(/ENOENT/)
    await expect(openMasterKey({ masterKey: Buffer.alloc(16), dataDir })).rejects.toThrow(/MASTER_KEY contains 16 bytes/)
  })
})

describe('API key secrets', () => {
  test('generates unique API key secrets in the documented format', () => {
    const created = new Set(Array.from({ length: 100 }, generateApiKeySecret))
    expect(created.size).toBe(100)
    for (const key of created) expect(key).toMatch(/^assay_[A-Za-z0-9_-]{43}$/)
  })

  test('uses the first 12 characters of an API key as its prefix', () => {
    expect(getKeyPrefix(`assay_abcdef${'x'.repeat(37)}`)).toBe('assay_abcdef')
  })
})

describe('password hashes and rules', () => {
  const passwords = new Passwords()

  test('stores a password as an argon2id hash and verifies it', async () => {
    const stored = await passwords.hash('correct horse')
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await passwords.verify(stored, 'correct horse')).toBe(true)
    expect(await passwords.verify(stored, 'correct horsf')).toBe(false)
    expect(passwords.needsRehash(stored)).toBe(false)
  })

  test('accepts a password in any Unicode normalization form', async () => {
    expect(await passwords.verify(await passwords.hash('pa\u00dfwort\u00e9'), 'pa\u00dfworte\u0301')).toBe(true)
  })

  test('always fails password verification for an unknown account', async () => {
    expect(await passwords.verify(null, 'anything')).toBe(false)
  })

  test('verifies a password hash with outdated parameters and marks it for renewal', async () => {
    const stored = await hash('correct horse', { memoryCost: 8192, timeCost: 1 })
    expect(await passwords.verify(stored, 'correct horse')).toBe(true)
    expect(passwords.needsRehash(stored)).toBe(true)
  })

  test('rejects a password hash request with the error `overloaded` if too many requests are waiting', async () => {
    const few = new Passwords({ max: 1, maxWaiting: 2 })
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => few.hash('correct horse')))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(results[4]).toMatchObject({ reason: { code: 'overloaded' } })
    await few.hash('and on it goes')
  })

  test('rejects weak passwords and accepts generated ones', async () => {
    expect(findPasswordError('short')).toMatch(/at least 8/)
    expect(findPasswordError('x'.repeat(513))).toMatch(/at most 512 bytes/)
    expect(findPasswordError('long enough')).toBeUndefined()
    expect(findPasswordError(generatePassword())).toBeUndefined()
    expect(await passwords.verify(await passwords.hash('long enough'), 'x'.repeat(1_000_000))).toBe(false)
  })
})
