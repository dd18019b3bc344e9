import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type TestTenant, World } from '../support/world.js'

const program = fileURLToPath(new URL('../../packages/client/dist/command/main.js', import.meta.url))

let world: World
let tenant: TestTenant
let folder: string

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { allowed_extensions: ['txt'] })
  folder = await mkdtemp(join(tmpdir(), 'assay-command-'))
})
afterAll(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs `assay` with the tenant's key by default. */
function runAssay(args: string[], env: Record<string, string> = { ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }) {
  return new Promise<{ status: number | null; out: string; err: string }>((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = { out: '', err: '' }
    child.stdout.on('data', (data) => (output.out += data))
    child.stderr.on('data', (data) => (output.err += data))
    child.on('error', reject).on('close', (status) => resolve({ status, ...output }))
  })
}
const runForJson = async (args: string[]) => {
  const { status, out } = await runAssay([...args, '--json'])
  return {
    status,
    rows: out
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  }
}

test('stores the URL and key in a file with mode 0600 after a successful `login` command', async () => {
  const wrong = await runAssay(['login', '--url', world.url, '--key', 'assay_wrong'], {})
  expect([wrong.status, wrong.err]).toEqual([1, expect.stringContaining('key')])
  expect((await runAssay(['ls'], {})).status).toBe(2)
  expect((await runAssay(['login', '--url', world.url, '--key', tenant.admin.credential!], {})).status).toBe(0)
  const loginPath = join(folder, '.config', 'assay', 'login.json')
  expect(JSON.parse(await readFile(loginPath, 'utf8'))).toEqual({ url: world.url, key: tenant.admin.credential })
  expect((await stat(loginPath)).mode & 0o777).toBe(0o600)
  expect((await runAssay(['contexts'], {})).out).toMatch(/^notes\tactive\ttxt\t/)
})

test('uploads, lists, downloads and deletes a file with the `upload`, `ls`, `get` and `rm` commands', async () => {
  await writeFile(join(folder, 'a.txt'), 'hello')
  const uploaded = await runForJson(['upload', 'a.txt', '--context', 'notes', '--metadata', '{"page":1}'])
  expect(uploaded).toMatchObject({ status: 0, rows: [{ original_filename: 'a.txt', size_bytes: 5 }] })
  const { file_id: id } = uploaded.rows[0]
  expect((await runForJson(['ls', '--context', 'notes', '--limit', '1'])).rows).toMatchObject([{ file_id: id }])
  expect((await runAssay(['get', id, '--output', '-'])).out).toBe('hello')
  const over = await runAssay(['get', id])
  expect([over.status, over.err]).toEqual([2, "'a.txt' already exists. Choose another name with --output. (EEXIST)\n"])
  expect((await runAssay(['get', id, '--output', 'b.txt'])).status).toBe(0)
  expect(await readFile(join(folder, 'b.txt'), 'utf8')).toBe('hello')
  expect((await runAssay(['rm', id])).status).toBe(0)
  expect(await runForJson(['rm', id])).toMatchObject({ status: 1, rows: [{ file: id, status: 'rejected', code: 'not_found' }] })
})

test('the `upload` command reports rejected files and continues with the others', async () => {
  await writeFile(join(folder, 'blank.txt'), ' ')
  await writeFile(join(folder, 'good.txt'), 'good')
  const { status, rows } = await runForJson(['upload', 'blank.txt', 'good.txt', '--context', 'notes'])
  expect(status).toBe(1)
  expect(rows).toMatchObject([
    { file: 'blank.txt', code: 'blank_file', request_id: expect.stringMatching(/^req_/) },
    { original_filename: 'good.txt' },
  ])
  const tested = await runAssay(['validate', 'blank.txt', 'good.txt', '--context', 'notes'])
  expect(tested.status).toBe(1)
  expect(tested.out).toMatch(/^blank\.txt\trejected\tblank_file\t.+\ngood\.txt\taccepted\t-\t-\n$/)
})

test('creates, disables and lists API keys with the `keys` command', async () => {
  const created = await runForJson(['keys', 'create', '--name', 'Robot', '--scopes', 'metadata', '--expires-in-days', '30'])
  expect(created.rows).toMatchObject([{ name: 'Robot', scopes: ['metadata'], api_key: expect.stringMatching(/^assay_/) }])
  const id = created.rows[0].api_key_id
  expect((await runForJson(['keys', 'disable', id])).rows).toMatchObject([{ api_key_id: id, status: 'disabled' }])
  expect((await runForJson(['keys'])).rows).toEqual(expect.arrayContaining([expect.objectContaining({ api_key_id: id })]))
  expect((await runForJson(['logs', '--limit', '1'])).rows).toHaveLength(1)
})

test('exits with status 2 if the `assay` command receives invalid arguments', async () => {
  const usage: [string[], RegExp][] = [
    [['frobnicate'], /Unknown command 'frobnicate'. Commands: login, upload/],
    [['upload', 'a.txt'], /--context KEY/],
    [['upload'], /Usage: assay upload FILE/],
    [['get', 'file_1', 'file_2'], /Wrong number of arguments: 2. The command expects 1. Usage: assay get/],
    [['link', 'frob'], /Usage: assay link/],
    [['ls', '--limit', '0'], /--limit is '0'. It must be a whole number of at least 1/],
    [['ls', '--colour', 'red'], /--colour.*Usage: assay ls/],
    [['logs', '--status', 'odd'], /--status is 'odd'. It must be one of: success, failure/],
    [['upload', 'a.txt', '--context', 'notes', '--metadata', '[1]'], /JSON object/],
    [['keys', 'frob'], /Usage: assay keys/],
  ]
  for (const [args, message] of usage) {
    const { status, err } = await runAssay(args)
    expect([args, status, err]).toEqual([args, 2, expect.stringMatching(message)])
    expect(err).not.toContain('    at ')
  }
  const unreachable = await runAssay(['ls'], { ASSAY_URL: 'http://127.0.0.1:9', ASSAY_KEY: 'assay_x' })
  expect([unreachable.status, unreachable.err]).toEqual([2, expect.stringContaining('Cannot reach the service')])
  expect((await runAssay(['help'])).out).toContain(
    'Exit status: 0 on success, 1 if the service rejected a request or a check failed, 2 if the command could not run.',
  )
})

test('the `assay` command names the file in errors about local files', async () => {
  const missing = ['upload', 'missing.txt', '--context', 'notes']
  expect(await runAssay(missing)).toEqual({ status: 2, out: '', err: "'missing.txt' does not exist. (ENOENT)\n" })
  const { status, err } = await runAssay([...missing, '--json'])
  expect([status, JSON.parse(err)]).toEqual([2, { code: 'local_error', message: "'missing.txt' does not exist. (ENOENT)" }])
  expect(await runAssay(['upload', '.', '--context', 'notes'])).toMatchObject({ status: 2, err: "'.' is not a file.\n" })
  expect(JSON.parse((await runAssay(['ls', '--limit', 'x', '--json'])).err)).toMatchObject({ code: 'usage_error' })
})

test('creates, lists and revokes upload links with the `link` command', async () => {
  const created = await runForJson([
    'link',
    '--context',
    'notes',
    '--max-files',
    '2',
    '--extensions',
    'txt',
    '--metadata',
    '{"order":7}',
  ])
  expect(created).toMatchObject({ status: 0, rows: [{ max_files: 2, allowed_extensions: ['txt'], metadata: { order: 7 } }] })
  const { link_id, url } = created.rows[0]
  await writeFile(join(folder, 'linked.txt'), 'through a link')
  const uploaded = await runAssay(['upload', 'linked.txt', '--link', url, '--metadata', '{"page":1}'], {})
  expect(uploaded).toMatchObject({ status: 0, out: expect.stringMatching(/^file_\w+\t14\tlinked\.txt\n$/) })
  const forbidden = await runAssay(['upload', 'linked.pdf', '--link', url], {})
  expect([forbidden.status, forbidden.err]).toEqual([2, "'linked.pdf' does not exist. (ENOENT)\n"])
  expect((await runAssay(['link', 'list', '--limit', '1'])).out).toMatch(new RegExp(`^${link_id}\\tactive\\tnotes\\t1/2\\t`))
  expect((await runAssay(['link', 'revoke', link_id])).out).toBe(`${link_id}\trevoked\n`)
  const revoked = await runAssay(['upload', 'linked.txt', '--link', url], {})
  expect([revoked.status, revoked.out]).toEqual([1, expect.stringMatching(/^linked\.txt\trejected\tnot_found\t/)])
})

test('downloads a receipt with the `receipt` command and verifies it offline', async () => {
  await writeFile(join(folder, 'proven.txt'), 'proven')
  const { file_id } = (await runForJson(['upload', 'proven.txt', '--context', 'notes'])).rows[0]
  await writeFile(join(folder, 'receipt.jws'), (await runAssay(['receipt', file_id])).out)
  const keys = await tenant.admin.raw('/.well-known/jwks.json')
  await writeFile(join(folder, 'jwks.json'), JSON.stringify(keys.body))
  const verify = (...args: string[]) => runAssay(['verify', ...args, '--keys', 'jwks.json'], {})
  const proven = await verify('receipt.jws', 'proven.txt')
  expect(proven).toMatchObject({ status: 0, out: expect.stringMatching(/^(proven\t.+\n){3,}$/) })
  await writeFile(join(folder, 'changed.txt'), 'changed')
  const changed = await verify('receipt.jws', 'changed.txt')
  expect(changed).toMatchObject({ status: 1, out: expect.stringMatching(/^NOT PROVEN\t/m) })
  expect(await verify('missing.jws')).toMatchObject({ status: 2, err: 'File missing.jws does not exist.\n' })
  expect((await runAssay(['verify', 'receipt.jws'], {})).err).toContain('--keys')
})

test('the `events` command prints the events after a sequence number', async () => {
  const { last_sequence } = (await tenant.admin.get('/events?limit=1')).body.data
  await tenant.admin.upload('notes', 'told.txt', 'told')
  await tenant.admin.upload('notes', 'told.exe', 'MZ')
  const { status, rows } = await runForJson(['events', '--after', String(last_sequence), '--types', 'file.*', '--limit', '2'])
  expect([status, rows.map(({ type, sequence }) => [type, sequence - last_sequence])]).toEqual([
    0,
    [
      ['file.accepted', 1],
      ['file.rejected', 2],
    ],
  ])
  const line = await runAssay(['events', '--after', String(last_sequence), '--limit', '1'])
  expect(line.out).toMatch(/^\d+\t.*\tfile\.accepted\tfile_[0-9a-z]{26} told\.txt\n$/)
  expect((await runAssay(['events', '--after', 'now'])).status).toBe(2)
})
