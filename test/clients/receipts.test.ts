import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { describeIf, describeWith, getProgramPath } from '../support/installed-programs.js'
import { growJournal } from '../support/journal.js'
import { parseClaims, ReceiptSetup, reportText } from '../support/receipt-setup.js'

const run = promisify(execFile)
const setup = new ReceiptSetup()
const { folder } = setup

/** Returns a program's exit status and output, even if it fails. */
const getOutcome = (running: Promise<{ stdout: string }>) =>
  running.then(
    ({ stdout }) => ({ status: 0, stdout }),
    ({ code, stdout, stderr }) => ({ status: code as number, stdout: `${stdout}${stderr}` }),
  )

describeWith('go')('sample verifier with Go transparency log packages', () => {
  const program = join(folder, 'read-log')
  beforeAll(async () => {
    // Packages are copied from the Go sources because only the toolchain can import their vendored path.
    const vendored = join(
      (await run(getProgramPath('go'), ['env', 'GOROOT'])).stdout.trim(),
      'src/cmd/vendor/golang.org/x/mod/sumdb',
    )
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
    await run(getProgramPath('go'), ['build', '-o', program, '.'], { cwd: folder, env })
  })

  const readLog = (token: string, more: Record<string, string> = {}) =>
    getOutcome(run(program, [], { env: { ASSAY_URL: setup.world.url, ASSAY_TOKEN: token, ...more } }))

  test('verifies a log with the sample verifier and an auditor token', async () => {
    const own = await setup.world.createTenant()
    await own.createContext('notes')
    const token = (await own.admin.post('/log/share', {})).body.data.token as string
    const fileId = (await own.admin.upload('notes', 'a.txt', reportText)).body.data.file_id
    const before = (await own.admin.get('/log/checkpoint')).body as string
    const early = await setup.getReceipt(`/files/${fileId}/receipt`, own.admin)
    await growJournal(setup.world.database.pool, own.tenantId, 1_000)
    await own.admin.upload('notes', 'b.txt', reportText)
    const late = await setup.getReceipt(`/files/${fileId}/receipt`, own.admin)
    const payload = (receipt: string) => Buffer.from(JSON.stringify(parseClaims(receipt))).toString('base64')
    const RECEIPTS = `${payload(early)} ${payload(late)}`
    expect(await readLog(token, { BEFORE: before, RECEIPTS })).toEqual({ status: 0, stdout: '1001 entries agree\n' })
    expect(await readLog(token, { BEFORE: before.replace('\n5\n', '\n6\n') })).toMatchObject({ status: 1 })
  })

  test('the sample verifier detects a modified log entry', async () => {
    const own = await setup.world.createTenant()
    const token = (await own.admin.post('/log/share', {})).body.data.token as string
    await growJournal(setup.world.database.pool, own.tenantId, 300)
    expect(await readLog(token)).toMatchObject({ status: 0 })
    await setup.world.database.pool.query("UPDATE journal SET entry = entry || ' ' WHERE tenant_id = $1 AND sequence = 7", [
      own.tenantId,
    ])
    expect(await readLog(token)).toEqual({ status: 1, stdout: 'the entries do not match the root\n' })
  })
})

const pythons = ['python3', '/usr/bin/python3']
const python = await Promise.any(pythons.map((program) => run(program, ['-c', 'import cryptography']).then(() => program))).catch(
  () => undefined,
)

describeIf(python !== undefined, 'Python’s cryptography is not installed (apt-get install python3-cryptography)')(
  'sample Python verifier in docs/proof.md',
  () => {
    const page = readFileSync(new URL('../../docs/proof.md', import.meta.url), 'utf8')
    const program = /```python\n([\s\S]*?)```/.exec(page)![1]!
    const check = (receipt: string, file: string, keys: string) => {
      writeFileSync(join(folder, 'r.jws'), receipt)
      writeFileSync(join(folder, 'file'), file)
      return getOutcome(run(python!, ['-c', program, join(folder, 'r.jws'), join(folder, 'file'), keys]))
    }

    test('limits the sample verifier to 32 non-blank lines', () => {
      expect(program.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(32)
    })

    test('the sample verifier accepts receipts at different log positions', async () => {
      const ids: string[] = []
      for (let n = 0; n < 4; n++) ids.push(await setup.upload(`${n}.txt`, `${reportText}${n}`))
      for (const [n, id] of ids.entries()) {
        const receipt = await setup.getReceipt(`/files/${id}/receipt`)
        const size = (await setup.world.app.services.log.createCheckpoint(setup.tenant.tenantId)).size
        expect(await check(receipt, `${reportText}${n}`, await setup.saveKeySet())).toEqual({
          status: 0,
          stdout: `proven: ${n}.txt accepted as number ${parseClaims(receipt).log.index + 1} of ${size}\n`,
        })
      }
    })

    test('the sample verifier rejects a modified receipt and a receipt for another file', async () => {
      const receipt = await setup.getReceipt(`/files/${await setup.upload()}/receipt`)
      const keys = await setup.saveKeySet()
      expect(await check(receipt, 'another', keys)).toMatchObject({ status: 1, stdout: expect.stringContaining('another file') })
      const [head, body, signature] = receipt.split('.') as [string, string, string]
      const forged = Buffer.from(body, 'base64url').toString().replace('report.txt', 'forged.txt')
      const changed = [head, Buffer.from(forged).toString('base64url'), signature].join('.')
      expect(await check(changed, reportText, keys)).toMatchObject({
        status: 1,
        stdout: expect.stringContaining('InvalidSignature'),
      })
    })
  },
)
