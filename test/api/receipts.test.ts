import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { verifyCommand } from '../../packages/proofs/src/command/verify-command.js'
import type { Receipt } from '../../packages/proofs/src/receipt.js'
import { refusal } from '../support/answers.js'
import { growJournal } from '../support/journal.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-receipts-'))
let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('notes')
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

const text = 'A report.\n'
const upload = async (name = 'report.txt', content = text): Promise<string> =>
  (await tenant.admin.upload('notes', name, content)).body.data.file_id
async function receiptOf(path: string, caller: Caller = tenant.admin): Promise<string> {
  const { status, body } = await caller.get(path)
  expect([path, status]).toEqual([path, 200])
  return body.data.receipt
}
const claimsOf = (receipt: string) => decodeJwt(receipt) as unknown as Receipt
/** The id of the newest call that was refused. */
const refusedCall = async (): Promise<string> =>
  (await tenant.admin.get('/stats/logs?status=failure&page_size=1')).body.data.data[0].call_id

async function keySet(): Promise<string> {
  const path = join(folder, 'jwks.json')
  writeFileSync(path, JSON.stringify((await world.stranger.raw('/.well-known/jwks.json')).body))
  return path
}
async function verified(receipt: string, ...files: string[]) {
  const path = join(folder, 'receipt.jws')
  writeFileSync(path, receipt)
  const lines: string[] = []
  const note = (line: string) => void lines.push(line)
  const status = await verifyCommand([path, ...files, '--keys', await keySet()], { writeOutput: note, writeError: note })
  return { status, said: lines.join('\n') }
}

describe('a receipt', () => {
  test('says of an accepted file what the specification lists', async () => {
    const fileId = await upload()
    const receipt = await receiptOf(`/files/${fileId}/receipt`)
    const metadata = (await tenant.admin.get(`/files/${fileId}/metadata`)).body.data
    const claims = claimsOf(receipt)
    expect(decodeProtectedHeader(receipt)).toEqual({ alg: 'EdDSA', kid: expect.stringMatching(/^sig_/), typ: 'receipt+jws' })
    expect(claims).toEqual({
      iss: world.url,
      iat: expect.any(Number),
      sub: fileId,
      tenant_id: tenant.tenantId,
      filename: 'report.txt',
      size_bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      context_key: 'notes',
      rules_version: 1,
      outcome: 'accepted',
      reason: null,
      checks: expect.arrayContaining([{ check: 'virus_detected', outcome: 'passed' }]),
      engine: {
        name: expect.any(String),
        version: expect.any(String),
        signatures_version: expect.any(String),
        signatures_date: expect.any(String),
      },
      uploaded_by: tenant.admin.id,
      uploaded_at: metadata.created_at,
      log: {
        origin: `${new URL(world.url).host}/log/${tenant.tenantId}`,
        index: expect.any(Number),
        entry: expect.stringContaining(fileId),
        leaf: expect.stringMatching(/^[\w+/]{43}=$/),
        checkpoint: expect.stringContaining(`${tenant.tenantId}\n`),
        proof: expect.arrayContaining([expect.stringMatching(/^[\w+/]{43}=$/)]),
      },
    })
    writeFileSync(join(folder, 'report.txt'), text)
    expect(await verified(receipt, join(folder, 'report.txt'))).toEqual({ status: 0, said: expect.not.stringContaining('NOT') })
  })

  test('outlives its file, also the one of its call', async () => {
    const fileId = await upload()
    const { body } = await tenant.admin.get('/stats/logs?operation=upload&page_size=1')
    const ofCall = claimsOf(await receiptOf(`/calls/${body.data.data[0].call_id}/receipt`))
    expect([ofCall.sub, ofCall.outcome]).toEqual([fileId, 'accepted'])
    expect((await tenant.admin.delete(`/files/${fileId}`)).status).toBe(200)
    const receipt = await receiptOf(`/files/${fileId}/receipt`)
    expect(claimsOf(receipt).sub).toBe(fileId)
    expect((await verified(receipt)).status).toBe(0)
  })

  test('of a rejected upload says why, and proves it', async () => {
    await tenant.admin.upload('notes', 'blank.txt', ' \n')
    const callId = await refusedCall()
    const receipt = await receiptOf(`/calls/${callId}/receipt`)
    expect(claimsOf(receipt)).toMatchObject({
      sub: callId,
      outcome: 'rejected',
      reason: 'blank_file',
      filename: 'blank.txt',
      size_bytes: 2,
    })
    const { status, said } = await verified(receipt)
    expect(said).toContain("'blank.txt' was rejected (blank_file)")
    expect(status).toBe(0)
  })

  test('of what a user was refused goes by its event, since users leave no calls', async () => {
    const user = await tenant.user(['upload'])
    expect((await user.upload('notes', 'by-user.txt', ' ')).status).toBe(422)
    const { rows } = await world.database.pool.query<{ id: string }>(
      "SELECT event_id AS id FROM journal WHERE tenant_id = $1 AND type = 'file.rejected' ORDER BY sequence DESC LIMIT 1",
      [tenant.tenantId],
    )
    const receipt = await receiptOf(`/calls/${rows[0]!.id}/receipt`)
    expect(claimsOf(receipt)).toMatchObject({ sub: rows[0]!.id, filename: 'by-user.txt', outcome: 'rejected' })
    expect((await verified(receipt)).status).toBe(0)
  })

  test('is a metadata call, for whoever may see the context', async () => {
    await tenant.context('others')
    const fileId = await upload()
    const reader = await tenant.key(['metadata'])
    expect(claimsOf(await receiptOf(`/files/${fileId}/receipt`, reader)).sub).toBe(fileId)
    const [logged] = (await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`)).body.data.data
    expect(logged).toMatchObject({ operation: 'metadata', status: 'success', file_id: fileId })
    const restricted = await tenant.key(['metadata'], { contexts: ['others'] })
    expect(refusal(await restricted.get(`/files/${fileId}/receipt`))).toEqual([404, 'not_found'])
    const allowed = await tenant.key(['metadata'], { contexts: ['notes'] })
    expect((await allowed.get(`/files/${fileId}/receipt`)).status).toBe(200)
    expect(refusal(await (await tenant.key(['download'])).get(`/files/${fileId}/receipt`))).toEqual([403, 'forbidden'])
  })

  test('of what is no verdict, or another tenant’s, is unknown', async () => {
    const fileId = await upload()
    const calls = (await tenant.admin.get('/stats/logs?operation=metadata&page_size=1')).body.data.data
    const other = await world.tenant()
    for (const path of [
      `/calls/${calls[0].call_id}/receipt`,
      `/calls/${fileId}/receipt`,
      '/files/x/receipt',
      "/calls/call_'/receipt",
    ])
      expect([path, ...refusal(await tenant.admin.get(path))]).toEqual([path, 404, 'not_found'])
    expect(refusal(await other.admin.get(`/files/${fileId}/receipt`))).toEqual([404, 'not_found'])
    expect(refusal(await other.admin.get(`/calls/${await refusedCall()}/receipt`))).toEqual([404, 'not_found'])
  })

  test('is the same by GraphQL, which wants one id and not two', async () => {
    const fileId = await upload()
    const ask = async (args: string) => (await tenant.admin.graphql(`{ receipt(${args}) { receipt } }`)).body
    expect(claimsOf((await ask(`fileId: "${fileId}"`)).data.receipt.receipt).sub).toBe(fileId)
    for (const args of [`fileId: "${fileId}", callId: "call_x"`, 'fileId: null'])
      expect((await ask(args)).errors[0].extensions.code).toBe('BAD_USER_INPUT')
  })

  test('of long ago stays verifiable when its keys are rotated, and in a log that grew', async () => {
    const receipt = await receiptOf(`/files/${await upload()}/receipt`)
    const { signing } = world.app.services.identity
    await signing.receipt.rotate()
    await signing.log.rotate()
    await growJournal(world.database.pool, tenant.tenantId, 700)
    expect((await verified(receipt)).status).toBe(0)
    const renewed = await receiptOf(`/files/${claimsOf(receipt).sub}/receipt`)
    expect(decodeProtectedHeader(renewed).kid).not.toBe(decodeProtectedHeader(receipt).kid)
    expect((await verified(renewed)).status).toBe(0)
    await signing.receipt.rotate({ leaked: true })
    expect((await verified(receipt)).said).toContain('NOT PROVEN: The key set does not contain key')
  })
})

test('while uploads run, every checkpoint holds what was answered before, and its log proves it', async () => {
  const busy = await world.tenant()
  await busy.context('notes')
  let isDone = false
  const uploads = Promise.all(
    Array.from({ length: 6 }, async (_, at) => {
      for (let n = 0; n < 12; n++) await busy.admin.upload('notes', `${at}-${n}.txt`, `${at} ${n}`)
    }),
  ).finally(() => {
    isDone = true
  })
  let asked = 0
  for (; !isDone || asked === 0; asked++) {
    const { body } = await busy.admin.upload('notes', 'mine.txt', `mine ${asked}`)
    const receipt = await receiptOf(`/files/${body.data.file_id}/receipt`, busy.admin)
    expect(await verified(receipt)).toMatchObject({ status: 0 })
  }
  await uploads
  const { rows } = await world.database.pool.query(
    'SELECT count(*)::int AS count, max(sequence)::int AS latest FROM journal WHERE tenant_id = $1',
    [busy.tenantId],
  )
  expect(rows[0].count).toBe(rows[0].latest)
})
