import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parseCommand, runCommand as runHere } from '../../src/cli/run-command.js'
import { readConfig } from '../../src/platform/config/config.js'
import { Lifecycle } from '../../src/platform/processes/lifecycle.js'
import { createTestDatabase } from '../support/database.js'
import { anyId } from '../support/response-assertions.js'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { Caller, World } from '../support/world.js'

interface Outcome {
  status: number | null
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  result: any
  stderr: string
}

/** Runs a command in a separate process and parses its JSON output. */
async function runAdminProcess(env: NodeJS.ProcessEnv, ...words: string[]): Promise<Outcome> {
  const { status, stdout, stderr } = await runCommand(['admin', ...words], env)
  return { status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
}

/** Runs a command in this process, which is 20 times faster than in a separate one. */
async function admin(env: NodeJS.ProcessEnv, ...words: string[]): Promise<Outcome> {
  const lifecycle = new Lifecycle()
  try {
    const { result, error: fault } = await runHere(parseCommand(words), { config: readConfig(env), lifecycle, print: () => {} })
    return { status: fault === undefined ? 0 : 1, stderr: fault ?? '', result: JSON.parse(JSON.stringify(result)) }
  } catch (error) {
    return { status: 1, stderr: (error as Error).message, result: undefined }
  } finally {
    await lifecycle.close()
  }
}

describe('admin commands while the service is running', () => {
  let world: World
  let env: NodeJS.ProcessEnv
  beforeAll(async () => {
    world = await World.open()
    env = {
      DATABASE_URL: world.databaseUrl,
      MASTER_KEY: world.config.masterKey!.toString('base64'),
      DATA_DIR: world.dataDir,
      STORAGE_URL: `file://${world.dataDir}/blobs`,
    }
  })
  afterAll(() => world.close())

  test('creates, suspends, resumes and deletes a tenant with the admin command', async () => {
    const created = await runAdminProcess(env, 'tenant', 'create', '--name', 'Acme & Söhne', '--quota-mb', '7')
    expect(created).toMatchObject({
      status: 0,
      stderr: '',
      result: {
        tenant_id: expect.stringMatching(/^ten_/),
        name: 'Acme & Söhne',
        api_key_id: expect.stringMatching(/^key_/),
        api_key: expect.stringMatching(/^assay_[A-Za-z0-9_-]{43}$/),
      },
    })
    const { tenant_id: tenantId, api_key: key, api_key_id: keyId } = created.result
    const caller = new Caller(world.url, key)
    expect((await caller.get('/tenant')).body.data).toMatchObject({ tenant_id: tenantId, storage_quota_mb: 7 })
    expect((await caller.get(`/api-keys/${keyId}`)).body.data.scopes).toEqual([
      'upload',
      'download',
      'metadata',
      'delete',
      'admin',
    ])
    await caller.post('/contexts', {
      context_key: 'notes',
      display_name: 'Notes',
      allowed_extensions: ['txt'],
      max_file_size_mb: 1,
    })
    const uploaded = await caller.upload('notes', 'a.txt', 'hello')
    const url = (await caller.get(`/files/${uploaded.body.data.file_id}`)).body.data.download_url

    const listed = await admin(env, 'tenant', 'list')
    expect(listed.result.tenants).toContainEqual({
      tenant_id: tenantId,
      name: 'Acme & Söhne',
      status: 'active',
      storage_quota_mb: 7,
      storage_used_bytes: 5,
      created_at: expect.stringMatching(/Z$/),
    })

    // Polls because the service receives other processes' changes after a short delay.
    const waitForStatus = async (status: number) => {
      while ((await caller.get('/files')).status !== status) await sleep(20)
    }
    expect((await admin(env, 'tenant', 'suspend', '--tenant', tenantId)).result).toEqual({
      tenant_id: tenantId,
      status: 'suspended',
    })
    await waitForStatus(403)
    expect(await admin(env, 'tenant', 'suspend', '--tenant', tenantId)).toMatchObject({ status: 1, result: undefined })
    expect((await admin(env, 'tenant', 'resume', '--tenant', tenantId)).status).toBe(0)
    await waitForStatus(200)

    expect(await admin(env, 'tenant', 'delete', '--tenant', tenantId, '--name', 'Acme')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is not 'Acme'"),
    })
    expect((await admin(env, 'tenant', 'delete', '--tenant', tenantId, '--name', 'Acme & Söhne')).result).toEqual({
      tenant_id: tenantId,
      deleted: true,
      files: 1,
    })
    await waitForStatus(401)
    expect((await fetch(url)).status).toBe(404)
    expect((await admin(env, 'sweep', '--pause')).result).toEqual({ paused: true })
    expect(await runAdminProcess(env, 'sweep')).toMatchObject({ status: 1, result: { paused: true } })
    expect((await admin(env, 'sweep', '--resume')).result).toEqual({ paused: false })
    expect((await admin(env, 'sweep')).result).toMatchObject({ removed: 1, failed: 0 })
    expect((await admin(env, 'tenant', 'list')).result.tenants.map((tenant: { name: string }) => tenant.name)).not.toContain(
      'Acme & Söhne',
    )
    for (const table of ['api_keys', 'users', 'file_contexts', 'files', 'file_totals', 'usage_counters'])
      expect((await world.database.pool.query(`SELECT 1 FROM ${table} WHERE tenant_id = $1`, [tenantId])).rowCount).toBe(0)
    expect((await admin(env, 'verify', '--deep')).status).toBe(0)
  })

  test('uses the admin command to create a user who can sign in', async () => {
    const tenant = await world.createTenant()
    const words = ['user', 'create', '--tenant', tenant.tenantId, '--name', 'Ada', '--scopes', 'metadata,upload', '--email']
    const created = await admin(env, ...words, 'Ada@Example.com')
    expect(created).toMatchObject({ status: 0, result: { email: 'ada@example.com', password: expect.any(String) } })
    const chosen = await admin(env, ...words, 'bob@example.com', '--password', 'correct horse battery')
    expect(chosen.result).toEqual({ user_id: expect.stringMatching(/^usr_/), email: 'bob@example.com' })
    for (const [email, password] of [
      ['ada@example.com', created.result.password],
      ['bob@example.com', 'correct horse battery'],
    ]) {
      const { body } = await world.unauthenticated.graphql(
        'mutation ($email: String!, $password: String!, $tenantId: ID) { signIn(email: $email, password: $password, tenantId: $tenantId) { user { email } } }',
        { email, password, tenantId: tenant.tenantId },
      )
      expect(body.data.signIn.user.email).toBe(email)
    }
    expect((await admin(env, 'user', 'list', '--tenant', tenant.tenantId)).result.users).toMatchObject([
      { email: 'bob@example.com', scopes: ['metadata', 'upload'], status: 'active' },
      { user_id: created.result.user_id, name: 'Ada' },
    ])
  })

  test('rotates secrets with the admin command while the service keeps running', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('notes')
    const { file_id: fileId } = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data
    const url = (await tenant.admin.get(`/files/${fileId}`)).body.data.download_url
    const user = await tenant.createUser(['metadata'])
    for (const purpose of ['download_url', 'session'])
      expect((await admin(env, 'secrets', 'rotate', '--purpose', purpose)).result).toMatchObject({
        purpose,
        key_id: expect.stringMatching(/^sig_/),
      })
    expect((await fetch(url)).status).toBe(200)
    expect((await user.get('/files')).status).toBe(200)
    expect((await tenant.admin.get('/files')).status).toBe(200)
    expect((await admin(env, 'secrets', 'reencrypt')).result).toEqual({ reencrypted: 0 })

    expect((await admin(env, 'secrets', 'rotate', '--purpose', 'download_url', '--leaked')).status).toBe(0)
    while ((await fetch(url)).status === 200) await sleep(20)
    expect(await admin(env, 'secrets', 'renew-master-key')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('MASTER_KEY_PREVIOUS'),
    })
  })

  test('replaces a lost initial key or password with the admin command', async () => {
    const tenant = await world.createTenant()
    const created = await admin(env, 'key', 'create', '--tenant', tenant.tenantId, '--name', 'Found again')
    expect(created.result).toEqual({
      tenant_id: tenant.tenantId,
      api_key_id: anyId('key'),
      name: 'Found again',
      scopes: ['upload', 'download', 'metadata', 'delete', 'admin'],
      api_key: expect.stringMatching(/^assay_[\w-]{43}$/),
    })
    const key = world.createCaller(created.result.api_key)
    expect((await key.get('/tenant')).status).toBe(200)
    const narrow = await admin(env, 'key', 'create', '--tenant', tenant.tenantId, '--scopes', 'metadata')
    expect((await world.createCaller(narrow.result.api_key).get('/tenant')).status).toBe(403)

    const user = await tenant.createUser(['metadata'])
    const words = ['user', 'set-password', '--tenant', tenant.tenantId, '--email', user.email.toUpperCase()]
    const { result } = await admin(env, ...words, '--remove-second-factor')
    expect(result).toEqual({ user_id: anyId('usr'), email: user.email, password: expect.stringMatching(/^[\w-]{20}$/) })
    const signIn = (password: string) =>
      world.unauthenticated.graphql('mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }', {
        e: user.email,
        p: password,
      })
    expect((await signIn(user.password)).body.errors).toHaveLength(1)
    expect((await signIn(result.password)).body.errors).toBeUndefined()
    await world.database.pool.query('UPDATE users SET wrong_codes = 100 WHERE email = $1', [user.email])
    expect((await admin(env, ...words, '--password', 'chosen by hand')).result).toEqual({
      user_id: anyId('usr'),
      email: user.email,
    })
    const { rows } = await world.database.pool.query('SELECT wrong_codes FROM users WHERE email = $1', [user.email])
    expect(rows).toEqual([{ wrong_codes: 0 }])
    expect((await signIn('chosen by hand')).body.errors).toBeUndefined()
    expect((await admin(env, 'tenant', 'quota', '--tenant', tenant.tenantId, '--mb', '9')).result).toEqual({
      tenant_id: tenant.tenantId,
      storage_quota_mb: 9,
    })
    expect((await key.get('/tenant')).body.data.storage_quota_mb).toBe(9)
  })

  test('exits with status 1 if `admin verify` finds a missing blob', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('notes')
    const { file_id: fileId } = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data
    expect(await admin(env, 'verify')).toEqual({
      status: 0,
      stderr: '',
      result: { counters_drift: 0, files_without_blob: 0, blobs_without_file: 0, corrupted: 0, journal_drift: 0 },
    })
    const { rows } = await world.database.pool.query('SELECT blob_path FROM files WHERE file_id = $1', [fileId])
    await world.app.services.storage.remove(rows[0].blob_path)
    expect(await admin(env, 'verify')).toMatchObject({
      status: 1,
      result: { files_without_blob: 1 },
      stderr: expect.stringContaining('files_without_blob is 1'),
    })
    await tenant.admin.delete(`/files/${fileId}`)
    expect((await admin(env, 'verify', '--deep')).status).toBe(0)
  })

  test.each([
    [['tenant', 'create'], '--name is required. Usage: npm run --silent admin -- tenant create --name NAME [--quota-mb N]'],
    [['tenant', 'create', '--name', 'A', '--quota', '1'], "Unknown option '--quota'"],
    [['tenant', 'create', '--name', 'A', '--quota-mb', 'many'], "--quota-mb is 'many'. It must be a whole number"],
    [['tenant', 'create', '--name', 'A', '--quota-mb', '0'], '`quota-mb` must be between 1 and 2147483647'],
    [['tenant', 'create', '--name', ''], '`name` must be a string of 1 to 255 characters'],
    [['tenant', 'suspend', '--tenant', 'ten_none'], "Tenant 'ten_none' was not found."],
    [['tenant', 'delete', '--tenant', 'ten_none', '--name', 'A'], "Tenant 'ten_none' was not found."],
    [['user', 'list', '--tenant', 'ten_none'], "Tenant 'ten_none' was not found."],
    [
      ['user', 'create', '--tenant', 'ten_none', '--email', 'a@b', '--name', 'A', '--scopes', 'upload'],
      "Tenant 'ten_none' was not found.",
    ],
    [
      ['user', 'create', '--tenant', 'ten_none', '--email', 'a', '--name', '', '--scopes', 'all', '--password', 'short'],
      '--email must be an email address such as ada@example.com; --name must be a string of 1 to 255 characters; --scopes must be one or more of upload, download, metadata, delete, admin; --password must have at least 8 characters and at most 512 bytes, and must not be a common password.',
    ],
    [['secrets', 'rotate', '--purpose', 'all'], "--purpose is 'all'. It must be one of download_url, session, receipt, log."],
    [['verify', '--deep', 'now'], "Unexpected argument 'now'"],
    [['key', 'create', '--tenant', 'ten_none'], "Tenant 'ten_none' was not found."],
    [
      ['key', 'create', '--tenant', 'x', '--scopes', 'upload,all'],
      "--scopes contains the unknown scope 'all'. Use one or more of upload,",
    ],
    [['user', 'set-password', '--tenant', 'ten_none', '--email', 'a@b'], "Tenant 'ten_none' was not found."],
    [['tenant', 'quota', '--tenant', 'ten_none', '--mb', '5'], "Tenant 'ten_none' was not found."],
    [['tenant', 'quota', '--tenant', 'ten_none', '--mb', '0'], '`quota-mb` must be between 1 and 2147483647'],
    [['destroy'], "Unknown command 'destroy'."],
    [[], 'Missing command.'],
  ])('reports the invalid admin arguments %j in one sentence', async (words, message) => {
    const attempt = async () => {
      const { command, values } = parseCommand(words)
      await command.run({ config: world.config, database: world.database, services: world.app.services, print: () => {} }, values)
    }
    await expect(attempt()).rejects.toThrow(message)
  })

  test('prints admin usage errors only to standard error and exits with status 1', async () => {
    for (const [words, message] of [
      [['destroy'], "Unknown command 'destroy'.\n"],
      [['tenant', 'suspend', '--tenant', 'ten_none'], "Tenant 'ten_none' was not found.\n"],
    ] as const) {
      const { status, result, stderr } = await runAdminProcess(env, ...words)
      expect({ status, result, stderr }).toEqual({ status: 1, result: undefined, stderr: expect.stringContaining(message) })
      expect(stderr).not.toMatch(/\bat .*\.js:\d+/)
    }
  })

  test('reports an unreachable database and a missing MASTER_KEY in one sentence each', async () => {
    const unreachable = await runAdminProcess({ ...env, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }, 'tenant', 'list')
    expect(unreachable).toMatchObject({ status: 1, result: undefined, stderr: expect.stringContaining('is unreachable') })
    expect(await runAdminProcess({ ...env, MASTER_KEY: '' }, 'tenant', 'list')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('MASTER_KEY'),
    })
  })
})

describe('admin commands with the embedded database', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay admin '))
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

  test('runs admin commands before, while and after the service uses the embedded database', async () => {
    const env = { DATA_DIR: dataDir, PORT: await findFreePort(), SCANNER_URL: 'none:' }
    const early = await runAdminProcess(env, 'tenant', 'create', '--name', 'Early')
    expect(early.status).toBe(0)
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false)

    const service = await Service.start(env)
    try {
      const caller = new Caller(service.url, early.result.api_key)
      expect((await caller.get('/tenant')).body.data.name).toBe('Early')
      // The first start adds no key to a tenant that the operator created.
      expect((await caller.get('/api-keys')).body.data.pagination.total_items).toBe(1)
      const concurrent = await runAdminProcess(env, 'tenant', 'create', '--name', 'Beside')
      expect((await new Caller(service.url, concurrent.result.api_key).get('/tenant')).body.data.name).toBe('Beside')
      expect((await runAdminProcess(env, 'secrets', 'renew-master-key')).result).toEqual({ reencrypted: 4 })
      expect((await caller.get('/tenant')).status).toBe(200)
      expect((await runAdminProcess(env, 'verify', '--deep')).status).toBe(0)
    } finally {
      await service.stop()
    }
    expect((await runAdminProcess(env, 'tenant', 'list')).result.tenants).toHaveLength(2)
  })
})

describe('admin commands with a new database', () => {
  test('runs two concurrent admin commands on a new database', async () => {
    const { url } = await createTestDatabase()
    const dataDir = mkdtempSync(join(tmpdir(), 'assay-admin-'))
    const env = { DATABASE_URL: url, MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: dataDir }
    try {
      const outcomes = await Promise.all(['A', 'B'].map((name) => runAdminProcess(env, 'tenant', 'create', '--name', name)))
      expect(outcomes.map(({ status, stderr }) => [status, stderr])).toEqual([
        [0, ''],
        [0, ''],
      ])
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
