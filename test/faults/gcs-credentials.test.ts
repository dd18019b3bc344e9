import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newId } from '../../src/platform/ids.js'
import { GcsStorage } from '../../src/platform/storage/gcs/gcs.js'
import { inMemory, noise, readBytes } from '../contract/contents.js'
import { BucketEmulator } from '../support/bucket/bucket.js'
import { GoogleIdentityEmulator, type IdentityCall, type IdentityFault } from '../support/bucket/google-identity.js'
import { createServiceAccount } from '../support/bucket/service-account.js'

const account = createServiceAccount()
const type = { contentType: 'application/pdf' }
const large = noise(9 * 1024 * 1024)
const variables = ['GOOGLE_APPLICATION_CREDENTIALS', 'GCE_METADATA_HOST', 'HOME'] as const
const before = Object.fromEntries(variables.map((name) => [name, process.env[name]]))

let folder: string
let identity: GoogleIdentityEmulator
let bucket: BucketEmulator
const opened: GcsStorage[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-credentials-'))
})
afterAll(() => rm(folder, { recursive: true }))

beforeEach(async () => {
  identity = await GoogleIdentityEmulator.start(account)
  bucket = await BucketEmulator.start({
    name: 'blobs',
    accounts: { [account.email]: account.publicKey },
    isKnownToken: identity.knowsToken,
  })
  // Environment variables must not contain real credentials.
  delete process.env.GOOGLE_APPLICATION_CREDENTIALS
  process.env.HOME = folder
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()))
  // Polls because the server detects closed connections with a delay and abandoned token requests time out.
  for (let waited = 0; bucket.connections + identity.waiting > 0 && waited < 1000; waited++) await sleep(10)
  const remaining = [bucket.connections, identity.waiting]
  await Promise.all([bucket.stop(), identity.stop()])
  for (const name of variables) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  expect(remaining).toEqual([0, 0])
})

function open(limits = { requestMs: 10_000, idleMs: 10_000, callMs: 10_000, retryDelayMs: 10 }): GcsStorage {
  const storage = new GcsStorage({ bucket: 'blobs', endpoint: bucket.url, signingEndpoint: identity.signingEndpoint, limits })
  opened.push(storage)
  return storage
}

async function configureFederation(source: object, more = {}): Promise<void> {
  process.env.GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'federation.json')
  await writeFile(process.env.GOOGLE_APPLICATION_CREDENTIALS, JSON.stringify(identity.createFederationConfig(source, more)))
}

async function writeSubjectToken(): Promise<{ file: string }> {
  const file = join(folder, 'subject')
  await writeFile(file, identity.subjectToken)
  return { file }
}

/** Retries because the timeouts are short and the machine may stall. */
async function retryUntilSuccess<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; tries < 5; tries++) {
    try {
      return await work()
    } catch {}
  }
  return work()
}

const onMetadataServer = async () => void (process.env.GCE_METADATA_HOST = identity.host)
const grant = {
  tenantId: 'ten_1',
  by: 'key_1',
  fileId: newId('file'),
  path: 'a/large',
  filename: 'a.pdf',
  contentType: 'application/pdf',
  expiresInSeconds: 300,
}
const calls = (call: IdentityCall) => identity.calls.filter((madeCall) => madeCall === call).length
const get = async (url: string) => {
  const response = await fetch(url, { headers: { connection: 'close' } })
  return [response.status, Buffer.from(await response.arrayBuffer()).equals(large)]
}

describe.each<[string, () => Promise<void>]>([
  ['workload identity with a token in a file', async () => configureFederation(await writeSubjectToken())],
  ['workload identity with a token from a URL', async () => configureFederation({ url: `http://${identity.host}/subject` })],
  ['the metadata server', onMetadataServer],
])('bucket access without a key, using %s', (_name, credentials) => {
  test('sends a token with every bucket request and signs URLs through IAM', async () => {
    await credentials()
    const storage = open()
    await storage.assertReady()
    await storage.put('a/small', inMemory(noise(1000)), type)
    await storage.put('a/large', inMemory(large), type)
    expect((await readBytes(await storage.open('a/large'))).equals(large)).toBe(true)
    expect(await storage.getSize('a/small')).toBe(1000)
    expect((await storage.list().next()).value).toMatchObject({ path: 'a/large' })
    const callsBefore = bucket.calls.length
    const url = await storage.signDownload(grant)
    expect(bucket.calls).toHaveLength(callsBefore)
    expect(calls('sign')).toBe(1)
    expect(await get(url)).toEqual([200, true])
    expect(await get(url.replace('X-Goog-Expires=300', 'X-Goog-Expires=301'))).toEqual([403, false])
    await storage.remove('a/small')
    expect(bucket.objects.names).toEqual(['.assay/ready', 'a/large'])
  })

  test('reports a bucket as unavailable if it rejects the access token', async () => {
    await credentials()
    const storage = open()
    await storage.put('a/b', inMemory(noise(10)), type)
    identity.invalidateTokens()
    await expect(storage.getSize('a/b')).rejects.toMatchObject({
      code: 'storage_unavailable',
      cause: { message: /Invalid Credentials/ },
    })
  })
})

describe('access tokens', () => {
  test('reuses access tokens until they expire', async () => {
    identity.tokenSeconds = 1
    await configureFederation(await writeSubjectToken())
    const storage = open()
    await storage.put('a/b', inMemory(noise(10)), type)
    // A changed subject token requires a new access token.
    identity.subjectToken = 'subject-2'
    await writeSubjectToken()
    identity.invalidateTokens()
    identity.tokenSeconds = 3600
    expect(await storage.getSize('a/b')).toBe(10)
    const exchanged = calls('exchange')
    for (let times = 0; times < 5; times++) await storage.getSize('a/b')
    expect(calls('exchange')).toBe(exchanged)
  })

  test('reports the STS error message if STS rejects a token', async () => {
    await configureFederation(await writeSubjectToken())
    identity.subjectToken = 'another'
    await expect(open().getSize('a/b')).rejects.toMatchObject({
      code: 'storage_unavailable',
      cause: { message: /invalid_grant/ },
    })
  })

  test.each<[IdentityCall]>([['exchange'], ['impersonate']])(
    'times out a token request of type %s that receives no response',
    async (call) => {
      await configureFederation(await writeSubjectToken())
      const storage = open({ requestMs: 800, idleMs: 10_000, callMs: 1600, retryDelayMs: 10 })
      identity.plan(call, { kind: 'silent' }, 1000)
      await expect(storage.getSize('a/b')).rejects.toMatchObject({ code: 'storage_unavailable' })
      await expect(storage.put('a/b', inMemory(large), type)).rejects.toMatchObject({ code: 'storage_unavailable' })
      identity.clear()
      await retryUntilSuccess(() => storage.assertReady())
      expect(await retryUntilSuccess(() => storage.getSize('a/b'))).toBeNull()
    },
  )
})

describe('URL signing by IAM', () => {
  test.each<[string, IdentityFault, RegExp]>([
    ['forbidden', { kind: 'status', status: 403 }, /iam\.serviceAccounts\.signBlob/],
    ['out of service', { kind: 'status', status: 503 }, /as asked/],
    ['silent', { kind: 'silent' }, /no response within/],
    ['too slow', { kind: 'slow', ms: 3000 }, /no response within/],
  ])('reports the IAM signing service as unavailable if it is %s', async (_name, fault, reason) => {
    await configureFederation(await writeSubjectToken())
    const storage = open({ requestMs: 1000, idleMs: 10_000, callMs: 3000, retryDelayMs: 10 })
    await retryUntilSuccess(() => storage.assertReady())
    bucket.objects.store({ name: grant.path }, large)
    identity.plan('sign', fault, 100)
    const failure = await storage.signDownload(grant).catch((error) => error)
    expect(failure).toMatchObject({ code: 'storage_unavailable', message: expect.not.stringMatching(/sign(Blob|ature)/) })
    expect(String(failure.cause)).toMatch(
      fault.kind === 'status' && fault.status === 503 ? /no response within|as asked/ : reason,
    )
    identity.clear()
    expect(await get(await retryUntilSuccess(() => storage.signDownload(grant)))).toEqual([200, true])
  })

  test('reports a signing error if the workload identity does not impersonate a service account', async () => {
    await configureFederation(await writeSubjectToken(), { impersonate: false })
    const failure = await open()
      .signDownload(grant)
      .catch((error) => error)
    expect(failure).toMatchObject({ code: 'storage_unavailable' })
    expect(String(failure.cause)).toMatch(/client_email|credentials/i)
  })
})
