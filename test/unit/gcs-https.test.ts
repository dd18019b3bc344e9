import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { BucketEmulator } from '../support/bucket/bucket.js'
import { createLoopbackCertificate } from '../support/bucket/certificate.js'
import { createServiceAccount } from '../support/bucket/service-account.js'

// Requests to Google use TLS. An environment variable makes the process trust the test certificate.
const compiled = new URL('../../dist/', import.meta.url)
const script = `
  import { createHash, randomBytes } from 'node:crypto'
  const { GcsStorage } = await import('${new URL('platform/storage/gcs/gcs.js', compiled).href}')
  const { createMemoryContent } = await import('${new URL('platform/spool/content.js', compiled).href}')
  const [emulatorHost, keyFile] = process.argv.slice(1)
  const limits = { requestMs: 10_000, idleMs: 10_000, callMs: 10_000, retryDelayMs: 10 }
  const storage = new GcsStorage({ bucket: 'blobs', emulatorHost, keyFile, limits })
  try {
    for (const size of [100_000, 9_000_000]) {
      const bytes = randomBytes(size)
      await storage.put('a/' + size, createMemoryContent(bytes), { contentType: 'application/pdf' })
      const read = Buffer.concat(await (await storage.open('a/' + size)).toArray())
      if (!read.equals(bytes)) throw new Error('The downloaded bytes differ.')
      const grant = {
  tenantId: 'ten_1',
  by: 'key_1', fileId: 'file_1', path: 'a/' + size, filename: 'a.pdf', contentType: 'application/pdf', expiresInSeconds: 300 }
      const answer = await fetch(await storage.signDownload(grant))
      if (!Buffer.from(await answer.arrayBuffer()).equals(bytes)) throw new Error('The bytes at the signed URL differ.')
    }
    await storage.assertReady()
    await storage.remove('a/100000')
    const listed = []
    for await (const { path } of storage.list()) listed.push(path)
    console.log(JSON.stringify(listed))
  } catch (error) {
    console.log(JSON.stringify({ code: error.code, cause: String(error.cause) }))
  }
  await storage.close()
  process.exit()
`

let folder: string
let bucket: BucketEmulator
let keyFile: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-https-'))
  const account = createServiceAccount()
  keyFile = await account.writeTo(join(folder, 'key.json'))
  const { authority, certificate } = createLoopbackCertificate()
  await writeFile(join(folder, 'authority.pem'), authority)
  bucket = await BucketEmulator.start({ name: 'blobs', accounts: { [account.email]: account.publicKey }, tls: certificate })
})
afterEach(async () => {
  await bucket.stop()
  await rm(folder, { recursive: true })
})

async function run(env: NodeJS.ProcessEnv): Promise<unknown> {
  const args = ['--input-type=module', '-e', script, bucket.url, keyFile]
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse((await child.stdout.setEncoding('utf8').toArray()).join(''))
}

test('uses TLS with a trusted certificate authority for all bucket requests', async () => {
  expect(bucket.url).toMatch(/^https:/)
  expect(await run({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') })).toEqual(['a/9000000'])
  expect(new Set(bucket.calls)).toEqual(new Set(['upload', 'session', 'chunk', 'media', 'signed', 'delete', 'list']))
})

test('reports a bucket as unavailable if its certificate authority is not trusted', async () => {
  expect(await run({})).toEqual({ code: 'storage_unavailable', cause: expect.stringMatching(/certificate/) })
  expect(bucket.calls).toEqual([])
})
