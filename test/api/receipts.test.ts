import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { verifyCommand } from '../../packages/proofs/src/command/verify-command.js'
import type { Receipt } from '../../packages/proofs/src/receipt.js'
import { refusal } from '../support/answers.js'
import { growJournal } from '../support/journal.js'
import { describeWhere, describeWith, partPath } from '../support/real-parts.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const run = promisify(execFile)
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
  const status = await verifyCommand([path, ...files, '--keys', await keySet()], { out: note, err: note })
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
    expect((await verified(receipt)).said).toContain('NOT PROVEN: The key set has no key')
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

/** The command of an auditor in another language: what it printed, and its exit status. */
const outcomeOf = (running: Promise<{ stdout: string }>) =>
  running.then(
    ({ stdout }) => ({ status: 0, stdout }),
    ({ code, stdout, stderr }) => ({ status: code as number, stdout: `${stdout}${stderr}` }),
  )

describeWith('go')('Go’s own packages for transparency logs', () => {
  const program = join(folder, 'read-log')
  beforeAll(async () => {
    // They are part of Go's own sources, under a name that only the toolchain may import.
    const vendored = join((await run(partPath('go'), ['env', 'GOROOT'])).stdout.trim(), 'src/cmd/vendor/golang.org/x/mod/sumdb')
    const sources = join(folder, 'x-mod')
    for (const name of ['note', 'tlog']) {
      mkdirSync(join(sources, 'sumdb', name), { recursive: true })
      for (const file of readdirSync(join(vendored, name)).filter((each) => !each.endsWith('_test.go'))) {
        cpSync(join(vendored, name, file), join(sources, 'sumdb', name, file))
        const source = readFileSync(join(sources, 'sumdb', name, file), 'utf8')
        writeFileSync(join(sources, 'sumdb', name, file), source.replace('golang.org/x/crypto/ed25519', 'crypto/ed25519'))
      }
    }
    writeFileSync(join(sources, 'go.mod'), 'module golang.org/x/mod\n')
    writeFileSync(
      join(folder, 'go.mod'),
      'module check\n\nrequire golang.org/x/mod v0.0.0\n\nreplace golang.org/x/mod => ./x-mod\n',
    )
    cpSync(new URL('../support/tlog/main.go', import.meta.url), join(folder, 'main.go'))
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      GOCACHE: join(folder, 'go-cache'),
      GOFLAGS: '-mod=mod',
      GOPROXY: 'off',
      CGO_ENABLED: '0',
    }
    await run(partPath('go'), ['build', '-o', program, '.'], { cwd: folder, env })
  })

  const readLog = (token: string, more: Record<string, string> = {}) =>
    outcomeOf(run(program, [], { env: { ASSAY_URL: world.url, ASSAY_TOKEN: token, ...more } }))

  test('read the log by an auditor’s token, find the signed root, and prove entries, growth and receipts', async () => {
    const own = await world.tenant()
    await own.context('notes')
    const token = (await own.admin.post('/log/share', {})).body.data.token as string
    const fileId = (await own.admin.upload('notes', 'a.txt', text)).body.data.file_id
    const before = (await own.admin.get('/log/checkpoint')).body as string
    const early = await receiptOf(`/files/${fileId}/receipt`, own.admin)
    await growJournal(world.database.pool, own.tenantId, 1_000)
    await own.admin.upload('notes', 'b.txt', text)
    const late = await receiptOf(`/files/${fileId}/receipt`, own.admin)
    const payload = (receipt: string) => Buffer.from(JSON.stringify(claimsOf(receipt))).toString('base64')
    const RECEIPTS = `${payload(early)} ${payload(late)}`
    expect(await readLog(token, { BEFORE: before, RECEIPTS })).toEqual({ status: 0, stdout: '1001 entries agree\n' })
    expect(await readLog(token, { BEFORE: before.replace('\n5\n', '\n6\n') })).toMatchObject({ status: 1 })
  })

  test('find a changed entry', async () => {
    const own = await world.tenant()
    const token = (await own.admin.post('/log/share', {})).body.data.token as string
    await growJournal(world.database.pool, own.tenantId, 300)
    expect(await readLog(token)).toMatchObject({ status: 0 })
    await world.database.pool.query("UPDATE journal SET entry = entry || ' ' WHERE tenant_id = $1 AND sequence = 7", [
      own.tenantId,
    ])
    expect(await readLog(token)).toEqual({ status: 1, stdout: 'the entries do not make the root\n' })
  })
})

const pythons = ['python3', '/usr/bin/python3']
const python = await Promise.any(pythons.map((program) => run(program, ['-c', 'import cryptography']).then(() => program))).catch(
  () => undefined,
)

describeWhere(python !== undefined, 'Python’s cryptography is not installed (apt-get install python3-cryptography)')(
  'the thirty lines of Python in docs/proof.md',
  () => {
    const page = readFileSync(new URL('../../docs/proof.md', import.meta.url), 'utf8')
    const program = /```python\n([\s\S]*?)```/.exec(page)![1]!
    const check = (receipt: string, file: string, keys: string) => {
      writeFileSync(join(folder, 'r.jws'), receipt)
      writeFileSync(join(folder, 'file'), file)
      return outcomeOf(run(python!, ['-c', program, join(folder, 'r.jws'), join(folder, 'file'), keys]))
    }

    test('are thirty lines, besides the blank ones', () => {
      expect(program.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(32)
    })

    test('prove a receipt, at every place of a log', async () => {
      const ids: string[] = []
      for (let n = 0; n < 4; n++) ids.push(await upload(`${n}.txt`, `${text}${n}`))
      for (const [n, id] of ids.entries()) {
        const receipt = await receiptOf(`/files/${id}/receipt`)
        const size = (await world.app.services.log.checkpoint(tenant.tenantId)).size
        expect(await check(receipt, `${text}${n}`, await keySet())).toEqual({
          status: 0,
          stdout: `proven: ${n}.txt accepted as number ${claimsOf(receipt).log.index + 1} of ${size}\n`,
        })
      }
    })

    test('prove nothing of another file, or a receipt that was changed', async () => {
      const receipt = await receiptOf(`/files/${await upload()}/receipt`)
      const keys = await keySet()
      expect(await check(receipt, 'another', keys)).toMatchObject({ status: 1, stdout: expect.stringContaining('another file') })
      const [head, body, signature] = receipt.split('.') as [string, string, string]
      const forged = Buffer.from(body, 'base64url').toString().replace('report.txt', 'forged.txt')
      const changed = [head, Buffer.from(forged).toString('base64url'), signature].join('.')
      expect(await check(changed, text, keys)).toMatchObject({ status: 1, stdout: expect.stringContaining('InvalidSignature') })
    })
  },
)
