import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { redactDatabaseUrl } from '../../src/platform/db/database-url.js'
import { openDatabase } from '../../src/platform/db/open-database.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-embedded-'))
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let count = 0
const createPlace = (...more: string[]) => ({ dataDir: join(scratch, `data ${++count}`, ...more), databaseUrl: undefined })

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return (await client.query(sql).finally(() => client.end())).rows
}

/** Starts another process that keeps the database open as a service does. */
async function startOtherService(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const module = new URL('../../dist/platform/db/open-database.js', import.meta.url)
  const code = `const { openDatabase } = await import(${JSON.stringify(module)})
    const db = await openDatabase({ dataDir: ${JSON.stringify(dataDir)}, databaseUrl: undefined })
    process.on('SIGTERM', () => db.stop().then(() => process.exit(0)))
    setInterval(() => {}, 1000)
    console.log(db.url)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [url] = await once(createInterface({ input: child.stdout! }), 'line')
  return { child, url }
}

const postmaster = (dataDir: string) => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

async function waitUntilDead(pid: number) {
  const lives = () => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  while (lives()) await sleep(20)
}

describe('embedded PostgreSQL', () => {
  test('keeps the data of the embedded PostgreSQL after a restart', async () => {
    const where = createPlace()
    const output: string[] = []
    const first = await openDatabase(where, (what) => output.push(what))
    // A slow start prints additional progress lines.
    expect(output[0]).toBe('Creating a new PostgreSQL database cluster…')
    const settings = await query(
      first.url,
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'server_encoding', 'TimeZone') ORDER BY name",
    )
    expect(Object.fromEntries(settings.map((row) => [row.name, row.setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '',
      server_encoding: 'UTF8',
      TimeZone: 'UTC',
    })
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    await first.stop()
    expect(existsSync(join(where.dataDir, 'postgres', 'postmaster.pid'))).toBe(false)

    const second = await openDatabase(where)
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
    await second.stop()
    expect(existsSync(join(where.dataDir, 'postgres.lock'))).toBe(false)
  })

  test('restricts the socket and lock files of the embedded PostgreSQL to the owner', async () => {
    const where = createPlace()
    const database = await openDatabase(where)
    expect(statSync(join(where.dataDir, 'postgres.socket')).mode & 0o777).toBe(0o700)
    expect(statSync(join(where.dataDir, 'postgres.lock')).mode & 0o777).toBe(0o600)
    await database.stop()
  })

  test('starts even if DATA_DIR is too long for a socket path', async () => {
    const where = createPlace('x'.repeat(120))
    mkdirSync(where.dataDir, { recursive: true })
    const database = await openDatabase(where)
    const folder = new URL(database.url).searchParams.get('host')!
    expect(folder.startsWith(where.dataDir)).toBe(false)
    expect(await query(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.stop()
    expect(existsSync(folder)).toBe(false)
  })

  test('repairs an embedded database cluster whose creation was interrupted', async () => {
    const where = createPlace()
    mkdirSync(join(where.dataDir, 'postgres.new'), { recursive: true })
    writeFileSync(join(where.dataDir, 'postgres.new', 'PG_VERSION'), '18\n')
    const database = await openDatabase(where)
    expect(await query(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.stop()
  })

  test('rejects a database cluster from another PostgreSQL major version', async () => {
    const where = createPlace()
    mkdirSync(join(where.dataDir, 'postgres'), { recursive: true })
    writeFileSync(join(where.dataDir, 'postgres', 'PG_VERSION'), '15\n')
    await expect(openDatabase(where)).rejects.toThrow(
      /was created by PostgreSQL 15, but this version of Assay includes PostgreSQL 18/,
    )
    expect(existsSync(join(where.dataDir, 'postgres.lock'))).toBe(false)
  })
})

describe('exclusive use of DATA_DIR', () => {
  test('reports the process that is already using DATA_DIR', async () => {
    const where = createPlace()
    const { child } = await startOtherService(where.dataDir)
    await expect(openDatabase(where)).rejects.toThrow(
      `DATA_DIR '${where.dataDir}' is in use by the Assay service with process id ${child.pid}. Stop that process, or set another DATA_DIR.`,
    )
  })

  test('an admin command does not stop the database of a running service', async () => {
    const where = createPlace()
    const { url } = await startOtherService(where.dataDir)
    const borrowed = await openDatabase({ ...where, purpose: 'command' })
    expect(borrowed.url).toBe(url)
    await borrowed.stop()
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('starts the database for an admin command if no service is running', async () => {
    const where = createPlace()
    const borrowed = await openDatabase({ ...where, purpose: 'command' })
    const pid = postmaster(where.dataDir)
    expect(await query(borrowed.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await borrowed.stop()
    await waitUntilDead(pid)
  })

  test('starts with all committed data and a single database server after kill -9', async () => {
    const where = createPlace()
    const { child, url } = await startOtherService(where.dataDir)
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    const orphan = postmaster(where.dataDir)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const database = await openDatabase(where)
    expect(postmaster(where.dataDir)).not.toBe(orphan)
    await waitUntilDead(orphan)
    expect(await query(database.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
    await database.stop()
  })

  test('takes over the DATA_DIR of a killed service even if another program now has its process id', async () => {
    const where = createPlace()
    mkdirSync(join(where.dataDir, 'postgres'), { recursive: true })
    writeFileSync(
      join(where.dataDir, 'postgres.lock'),
      JSON.stringify({ pid: process.pid, started: 'before the reboot', purpose: 'service', nonce: 'old' }),
    )
    const first = await openDatabase(where)
    await first.stop()
    writeFileSync(join(where.dataDir, 'postgres', 'postmaster.pid'), `${process.pid}\n${join(where.dataDir, 'postgres')}\n`)
    const second = await openDatabase(where)
    expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await second.stop()
  })

  test('lets only one of many concurrent processes take over the DATA_DIR of a killed service', async () => {
    const path = join(scratch, 'contended.lock')
    writeFileSync(path, JSON.stringify({ pid: process.pid, started: 'long ago', purpose: 'service', nonce: 'dead' }))
    const module = new URL('../../dist/platform/db/embedded/embedded.js', import.meta.url)
    const code = `import { existsSync } from 'node:fs'
      const { tryLock } = await import(${JSON.stringify(module)})
      console.log('ready')
      while (!existsSync(${JSON.stringify(`${path}.go`)}));
      console.log(tryLock(${JSON.stringify(path)}, 'service').held)
      setInterval(() => {}, 1000)`
    const contenders = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] }),
    )
    children.push(...contenders)
    const lines = contenders.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]())
    for (const line of lines) expect((await line.next()).value).toBe('ready')
    writeFileSync(`${path}.go`, '')
    const held = await Promise.all(lines.map(async (line) => (await line.next()).value))
    expect(held.filter((response) => response === 'true')).toHaveLength(1)
  })

  test('acquires the DATA_DIR of another container only after that container ends', async () => {
    const where = createPlace()
    mkdirSync(where.dataDir, { recursive: true })
    const path = join(where.dataDir, 'postgres.lock')
    const elsewhere = spawn('flock', ['-n', path, 'sh', '-c', 'echo held; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(elsewhere)
    await once(elsewhere.stdout, 'data')
    await expect(openDatabase(where)).rejects.toThrow(
      /^DATA_DIR '.*' is in use by another container or machine\. .*set DATABASE_URL/,
    )
    elsewhere.stdin.end()
    await once(elsewhere, 'exit')
    const database = await openDatabase(where)
    expect(await query(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.stop()
  })

  test('leaves a DATA_DIR unchanged if its postgres folder is not a database cluster', async () => {
    const where = createPlace()
    mkdirSync(join(where.dataDir, 'postgres'), { recursive: true })
    writeFileSync(join(where.dataDir, 'postgres', 'precious'), 'data')
    await expect(openDatabase(where)).rejects.toThrow(/^'.*postgres' contains 'precious' but no PostgreSQL cluster/)
    expect(readFileSync(join(where.dataDir, 'postgres', 'precious'), 'utf8')).toBe('data')
  })

  test('reports missing write permission for DATA_DIR in one sentence', async () => {
    writeFileSync(join(scratch, 'a file'), '')
    await expect(openDatabase({ dataDir: join(scratch, 'a file', 'data'), databaseUrl: undefined })).rejects.toThrow(
      /^DATA_DIR '.*' is not writable \((ENOTDIR|EEXIST)\)\. Set DATA_DIR to a directory that the service can write to\.$/,
    )
  })
})

describe('external databases', () => {
  test('requires no DATA_DIR for an external database', async () => {
    const dataDir = join(scratch, 'never made')
    const database = await openDatabase({ dataDir, databaseUrl: 'postgresql://me:secret@db.example:5433/files?sslmode=require' })
    expect(database).toMatchObject({
      url: 'postgresql://me:secret@db.example:5433/files?sslmode=require',
      description: 'PostgreSQL at me@db.example:5433/files',
    })
    await database.stop()
    expect(existsSync(dataDir)).toBe(false)
    expect(redactDatabaseUrl('postgresql:///files?host=/run/postgresql&password=secret')).toBe(
      'a local socket in /run/postgresql/files',
    )
  })
})

// Threads and child processes run compiled code.
test('the build includes the compiled code of the embedded database', () => {
  expect(existsSync(fileURLToPath(new URL('../../dist/platform/db/open-database.js', import.meta.url)))).toBe(true)
})
