import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { decodeProtectedHeader } from 'jose'
import { runVerifyCommand } from '../../packages/proofs/src/command/verify-command.js'
import { growJournal } from '../support/journal.js'
import { parseClaims, ReceiptSetup, reportText } from '../support/receipt-setup.js'
import { toStatusAndCode } from '../support/response-assertions.js'

const setup = new ReceiptSetup()
const { folder } = setup

const getRejectedCallId = async (): Promise<string> =>
  (await setup.tenant.admin.get('/stats/logs?status=failure&page_size=1')).body.data.data[0].call_id

async function runVerify(receipt: string, ...files: string[]) {
  const path = join(folder, 'receipt.jws')
  writeFileSync(path, receipt)
  const lines: string[] = []
  const note = (line: string) => void lines.push(line)
  const status = await runVerifyCommand([path, ...files, '--keys', await setup.saveKeySet()], {
    writeOutput: note,
    writeError: note,
  })
  return { status, output: lines.join('\n') }
}

describe('receipts', () => {
  test('returns the specified fields in the receipt of an accepted file', async () => {
    const fileId = await setup.upload()
    const receipt = await setup.getReceipt(`/files/${fileId}/receipt`)
    const metadata = (await setup.tenant.admin.get(`/files/${fileId}/metadata`)).body.data
    const claims = parseClaims(receipt)
    expect(decodeProtectedHeader(receipt)).toEqual({ alg: 'EdDSA', kid: expect.stringMatching(/^sig_/), typ: 'receipt+jws' })
    expect(claims).toEqual({
      iss: setup.world.url,
      iat: expect.any(Number),
      sub: fileId,
      tenant_id: setup.tenant.tenantId,
      filename: 'report.txt',
      size_bytes: reportText.length,
      sha256: createHash('sha256').update(reportText).digest('hex'),
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
      uploaded_by: setup.tenant.admin.id,
      uploaded_at: metadata.created_at,
      log: {
        origin: `${new URL(setup.world.url).host}/log/${setup.tenant.tenantId}`,
        index: expect.any(Number),
        entry: expect.stringContaining(fileId),
        leaf: expect.stringMatching(/^[\w+/]{43}=$/),
        checkpoint: expect.stringContaining(`${setup.tenant.tenantId}\n`),
        proof: expect.arrayContaining([expect.stringMatching(/^[\w+/]{43}=$/)]),
      },
    })
    writeFileSync(join(folder, 'report.txt'), reportText)
    expect(await runVerify(receipt, join(folder, 'report.txt'))).toEqual({
      status: 0,
      output: expect.not.stringContaining('NOT'),
    })
  })

  test('returns the receipt as a compact JWS for Accept: application/jose', async () => {
    const fileId = await setup.upload()
    const read = (path: string) =>
      fetch(`${setup.world.url}/api/v1${path}`, {
        headers: { Authorization: `Bearer ${setup.tenant.admin.credential}`, Accept: 'application/jose' },
      })
    const response = await read(`/files/${fileId}/receipt`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/jose'])
    const receipt = await response.text()
    expect(decodeProtectedHeader(receipt).typ).toBe('receipt+jws')
    expect(parseClaims(receipt).sub).toBe(fileId)
    const missing = await read(`/files/${fileId.slice(0, -1)}/receipt`)
    expect([missing.status, missing.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
  })

  test('returns a receipt by call id or file id, even after the file is deleted', async () => {
    const fileId = await setup.upload()
    const { body } = await setup.tenant.admin.get('/stats/logs?operation=upload&page_size=1')
    const ofCall = parseClaims(await setup.getReceipt(`/calls/${body.data.data[0].call_id}/receipt`))
    expect([ofCall.sub, ofCall.outcome]).toEqual([fileId, 'accepted'])
    expect((await setup.tenant.admin.delete(`/files/${fileId}`)).status).toBe(200)
    const receipt = await setup.getReceipt(`/files/${fileId}/receipt`)
    expect(parseClaims(receipt).sub).toBe(fileId)
    expect((await runVerify(receipt)).status).toBe(0)
  })

  test("returns a verifiable receipt that contains an upload's rejection reason", async () => {
    await setup.tenant.admin.upload('notes', 'blank.txt', ' \n')
    const callId = await getRejectedCallId()
    const receipt = await setup.getReceipt(`/calls/${callId}/receipt`)
    expect(parseClaims(receipt)).toMatchObject({
      sub: callId,
      outcome: 'rejected',
      reason: 'blank_file',
      filename: 'blank.txt',
      size_bytes: 2,
    })
    const { status, output } = await runVerify(receipt)
    expect(output).toContain("'blank.txt' was rejected (blank_file)")
    expect(status).toBe(0)
  })

  test("returns the receipt of a user's rejected upload if the request specifies the event id", async () => {
    const user = await setup.tenant.createUser(['upload'])
    expect((await user.upload('notes', 'by-user.txt', ' ')).status).toBe(422)
    const { rows } = await setup.world.database.pool.query<{ id: string }>(
      "SELECT event_id AS id FROM journal WHERE tenant_id = $1 AND type = 'file.rejected' ORDER BY sequence DESC LIMIT 1",
      [setup.tenant.tenantId],
    )
    const receipt = await setup.getReceipt(`/calls/${rows[0]!.id}/receipt`)
    expect(parseClaims(receipt)).toMatchObject({ sub: rows[0]!.id, filename: 'by-user.txt', outcome: 'rejected' })
    expect((await runVerify(receipt)).status).toBe(0)
  })

  test('logs a request for a receipt as a metadata call', async () => {
    await setup.tenant.createContext('others')
    const fileId = await setup.upload()
    const reader = await setup.tenant.createKey(['metadata'])
    expect(parseClaims(await setup.getReceipt(`/files/${fileId}/receipt`, reader)).sub).toBe(fileId)
    const [logged] = (await setup.tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`)).body.data.data
    expect(logged).toMatchObject({ operation: 'metadata', status: 'success', file_id: fileId })
    const restricted = await setup.tenant.createKey(['metadata'], { contexts: ['others'] })
    expect(toStatusAndCode(await restricted.get(`/files/${fileId}/receipt`))).toEqual([404, 'not_found'])
    const allowed = await setup.tenant.createKey(['metadata'], { contexts: ['notes'] })
    expect((await allowed.get(`/files/${fileId}/receipt`)).status).toBe(200)
    expect(toStatusAndCode(await (await setup.tenant.createKey(['download'])).get(`/files/${fileId}/receipt`))).toEqual([
      403,
      'forbidden',
    ])
  })

  test("returns 404 for the receipt of an unknown object or another tenant's object", async () => {
    const fileId = await setup.upload()
    const calls = (await setup.tenant.admin.get('/stats/logs?operation=metadata&page_size=1')).body.data.data
    const other = await setup.world.createTenant()
    for (const path of [
      `/calls/${calls[0].call_id}/receipt`,
      `/calls/${fileId}/receipt`,
      '/files/x/receipt',
      "/calls/call_'/receipt",
    ])
      expect([path, ...toStatusAndCode(await setup.tenant.admin.get(path))]).toEqual([path, 404, 'not_found'])
    expect(toStatusAndCode(await other.admin.get(`/files/${fileId}/receipt`))).toEqual([404, 'not_found'])
    expect(toStatusAndCode(await other.admin.get(`/calls/${await getRejectedCallId()}/receipt`))).toEqual([404, 'not_found'])
  })

  test('returns the same receipt over GraphQL as over REST', async () => {
    const fileId = await setup.upload()
    const request = async (args: string) => (await setup.tenant.admin.graphql(`{ receipt(${args}) { receipt } }`)).body
    expect(parseClaims((await request(`fileId: "${fileId}"`)).data.receipt.receipt).sub).toBe(fileId)
    for (const args of [`fileId: "${fileId}", callId: "call_x"`, 'fileId: null'])
      expect((await request(args)).errors[0].extensions.code).toBe('BAD_USER_INPUT')
  })

  test('returns receipts that remain verifiable after keys are rotated and the log grows', async () => {
    const receipt = await setup.getReceipt(`/files/${await setup.upload()}/receipt`)
    const { signing } = setup.world.app.services.identity
    await signing.receipt.rotate()
    await signing.log.rotate()
    await growJournal(setup.world.database.pool, setup.tenant.tenantId, 700)
    expect((await runVerify(receipt)).status).toBe(0)
    const renewed = await setup.getReceipt(`/files/${parseClaims(receipt).sub}/receipt`)
    expect(decodeProtectedHeader(renewed).kid).not.toBe(decodeProtectedHeader(receipt).kid)
    expect((await runVerify(renewed)).status).toBe(0)
    await signing.receipt.rotate({ leaked: true })
    expect((await runVerify(receipt)).output).toContain('NOT PROVEN: The key set does not contain key')
  })
})

test('returns verifiable receipts during concurrent uploads', async () => {
  const busy = await setup.world.createTenant()
  await busy.createContext('notes')
  let isDone = false
  const uploads = Promise.all(
    Array.from({ length: 6 }, async (_, at) => {
      for (let n = 0; n < 12; n++) await busy.admin.upload('notes', `${at}-${n}.txt`, `${at} ${n}`)
    }),
  ).finally(() => {
    isDone = true
  })
  let queries = 0
  for (; !isDone || queries === 0; queries++) {
    const { body } = await busy.admin.upload('notes', 'mine.txt', `mine ${queries}`)
    const receipt = await setup.getReceipt(`/files/${body.data.file_id}/receipt`, busy.admin)
    expect(await runVerify(receipt)).toMatchObject({ status: 0 })
  }
  await uploads
  const { rows } = await setup.world.database.pool.query(
    'SELECT count(*)::int AS count, max(sequence)::int AS latest FROM journal WHERE tenant_id = $1',
    [busy.tenantId],
  )
  expect(rows[0].count).toBe(rows[0].latest)
})
