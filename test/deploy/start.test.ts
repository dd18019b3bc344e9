import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { findFreePort, Service } from '../support/service.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay start '))
const services: Service[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop('SIGKILL')
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let count = 0
/** SCANNER_URL skips starting the built-in scanner, which these tests do not need. */
const environment = async (more: NodeJS.ProcessEnv = {}) => ({
  PORT: await findFreePort(),
  DATA_DIR: join(scratch, `data ${++count}`),
  SCANNER_URL: 'none:',
  ...more,
})

async function start(env: Awaited<ReturnType<typeof environment>>): Promise<Service> {
  const service = await Service.start(env)
  services.push(service)
  return service
}

const parseKey = (stdout: string) => /API key\s+(\S+)/.exec(stdout)?.[1]
const postgresOf = (env: { DATA_DIR: string }) =>
  Number(readFileSync(join(env.DATA_DIR, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
// A zombie process has no command line and counts as ended.
const runs = (pid: number) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''

async function getStatus(service: Service, key: string, path = '/api/v1/contexts'): Promise<number> {
  const response = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  await response.body?.cancel()
  return response.status
}

describe('first start', () => {
  test('prints a working key, a user and a curl command only on the first start', async () => {
    const env = await environment()
    const first = await start(env)
    const key = parseKey(first.stdout)!
    expect(key).toMatch(/^assay_[A-Za-z0-9_-]{43}$/)
    expect(first.stdout).toMatch(/Sign-in\s+admin@localhost\s+\S+/)
    for (const part of ['Database', 'Store', 'Scanner']) expect(first.stdout).toContain(`  ${part}`)
    const pasted = first.stdout.trimEnd().split('\n').at(-1)!.trim()
    expect(pasted).toMatch(/^curl /)
    const { stdout } = await promisify(execFile)('sh', ['-c', pasted])
    expect(JSON.parse(stdout)).toMatchObject({ data: { data: [], pagination: { total_items: 0 } } })
    const postgres = postgresOf(env)
    expect(await first.stop()).toMatchObject({ status: 0, stderr: '' })
    expect(runs(postgres)).toBe(false)

    const second = await start(env)
    expect(parseKey(second.stdout)).toBeUndefined()
    expect(second.stdout).not.toContain(key)
    expect(await getStatus(second, key)).toBe(200)
  })

  test('flushes new folders to disk before using the database', async () => {
    const steps = join(scratch, 'steps')
    const env = await environment({
      DISK_STEPS: steps,
      NODE_OPTIONS: `--import ${new URL('../support/disk-steps.mjs', import.meta.url).href}`,
    })
    await (await start(env)).stop()
    const [folder, data] = [env.DATA_DIR, join(env.DATA_DIR, 'postgres')]
    const done = readFileSync(steps, 'utf8').split('\n')
    const inOrder = [
      `mkdir ${folder}`,
      `fsync ${scratch}`,
      `rename ${data}.new ${data}`,
      `fsync ${folder}`,
      `mkdir ${data}.socket`,
      // The file with the master key.
      `fsync ${folder}`,
    ]
    expect(done.filter((step) => inOrder.includes(step))).toEqual(inOrder)
  })

  describe.each([
    ['a variable', 'BOOTSTRAP_API_KEY', 'BOOTSTRAP_ADMIN_PASSWORD'],
    ['a file', 'BOOTSTRAP_API_KEY_FILE', 'BOOTSTRAP_ADMIN_PASSWORD_FILE'],
  ])('operator-supplied key and password in %s', (_, keyVariable, passwordVariable) => {
    const key = 'chosen-by-the-operator-0000000000'
    const password = 'correct horse battery'
    const inFile = (name: string, value: string) => {
      const path = join(scratch, name)
      writeFileSync(path, `${value}\n`)
      return path
    }

    test("uses the operator's key and password but never prints them", async () => {
      const secrets = {
        [keyVariable]: keyVariable.endsWith('_FILE') ? inFile('key', key) : key,
        [passwordVariable]: passwordVariable.endsWith('_FILE') ? inFile('password', password) : password,
      }
      const env = await environment({ ...secrets, BOOTSTRAP_ADMIN_EMAIL: 'me@example.com', LOG_LEVEL: 'trace' })
      const service = await start(env)
      expect(await getStatus(service, key)).toBe(200)
      const response = await fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          query: `mutation { signIn(email: "me@example.com", password: "${password}") { token } }`,
        }),
      })
      expect(await response.json()).toMatchObject({ data: { signIn: { token: expect.any(String) } } })
      expect(service.stdout).toContain(`API key   (the value of ${keyVariable})`)
      expect(service.stdout).toContain(`me@example.com   (the password of ${passwordVariable})`)
      const pasted = service.stdout.split('\n').find((line) => line.startsWith('  curl -s -H'))!
      const { stdout } = await promisify(execFile)('sh', ['-c', pasted], { env: { ...process.env, ...secrets } })
      expect(JSON.parse(stdout)).toMatchObject({ status: 'SUCCESS' })

      const ended = await service.stop()
      expect(ended.status).toBe(0)
      for (const secret of [key, password]) expect(ended.stdout + ended.stderr).not.toContain(secret)
    })
  })

  test("does not print the operator's key if LOG_LEVEL is silent", async () => {
    const key = 'chosen-by-the-operator-0000000000'
    const service = await start(await environment({ BOOTSTRAP_API_KEY: key, LOG_LEVEL: 'silent' }))
    expect(service.stdout).toContain('BOOTSTRAP_API_KEY')
    const { stdout, stderr } = await service.stop()
    expect(stdout + stderr).not.toContain(key)
  })
})

describe('failed starts', () => {
  test('prints a one-sentence error if the port is in use', async () => {
    const env = await environment()
    const other = createServer().listen(Number(env.PORT), '127.0.0.1')
    await once(other, 'listening')
    const { status, stderr } = await Service.run(env).ended
    other.close()
    expect([status, stderr]).toEqual([
      1,
      `PORT ${env.PORT} on 127.0.0.1 is in use. Stop the program that is using it, or set another PORT.\n`,
    ])
    expect(existsSync(env.DATA_DIR)).toBe(false)
  })

  test('prints a one-sentence error if DATA_DIR is in use', async () => {
    const env = await environment()
    const first = await start(env)
    const { status, stderr } = await Service.run({ ...env, PORT: await findFreePort() }).ended
    expect([status, stderr]).toEqual([
      1,
      `DATA_DIR '${env.DATA_DIR}' is in use by the Assay service with process id ${first.child.pid}. Stop that process, or set another DATA_DIR.\n`,
    ])
    expect((await fetch(`${first.url}/health/live`)).status).toBe(200)
  })

  test('prints a one-sentence error if a variable is invalid', async () => {
    const env = await environment({ MAX_UPLOAD_MB: 'lots' })
    const { status, stderr } = await Service.run(env).ended
    expect([status, stderr]).toEqual([1, "MAX_UPLOAD_MB is 'lots'. It must be a whole number from 1 to 1048576.\n"])
    expect(existsSync(env.DATA_DIR)).toBe(false)
  })

  test('prints a one-sentence error if the database is unreachable', async () => {
    const env = await environment({
      DATABASE_URL: `postgresql://me:secret@127.0.0.1:${await findFreePort()}/x`,
      MASTER_KEY: Buffer.alloc(32).toString('base64'),
    })
    const { status, stderr } = await Service.run(env).ended
    expect(status).toBe(1)
    expect(stderr).toMatch(/^The database me@127\.0\.0\.1:\d+\/x is unreachable \(.*ECONNREFUSED.*\)\. Check DATABASE_URL\.\n$/)
  })
})

describe('service shutdown', () => {
  test('completes running calls and stops PostgreSQL after SIGTERM', async () => {
    const env = await environment()
    const service = await start(env)
    const body = JSON.stringify({ context_key: 'last', display_name: 'Last', allowed_extensions: ['txt'], max_file_size_mb: 1 })
    const call = request(`${service.url}/api/v1/contexts`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${parseKey(service.stdout)}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    })
    call.flushHeaders()
    await once(call, 'continue')
    call.write(body.slice(0, 10))

    service.child.kill('SIGTERM')
    await service.waitForOutput('SIGTERM: finishing')
    // Repeats because a connection that arrives before the port closes is accepted.
    const expectFailedStart = async () => {
      const late = connect(service.port, '127.0.0.1')
      const outcome = await new Promise<string>((resolve) => {
        late.once('connect', () => resolve('taken'))
        late.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code!))
      })
      late.destroy()
      return outcome === 'ECONNREFUSED'
    }
    while (!(await expectFailedStart())) await sleep(10)

    call.end(body.slice(10))
    const [response] = await once(call, 'response')
    expect(response.statusCode).toBe(201)
    response.resume()
    expect(await service.ended).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(join(env.DATA_DIR, 'postgres.log'), 'utf8').trimEnd()).toMatch(/database system is shut down$/)
  })

  test('stops the service if SIGTERM arrives during startup', async () => {
    const env = await environment()
    const service = Service.run(env)
    services.push(service)
    await service.waitForOutput('Starting PostgreSQL')
    service.child.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ status: 0, stderr: '' })
    expect(existsSync(join(env.DATA_DIR, 'postgres', 'postmaster.pid'))).toBe(false)
    expect(existsSync(join(env.DATA_DIR, 'postgres.lock'))).toBe(false)
  })

  test('keeps all data after SIGKILL', async () => {
    const env = await environment()
    const first = await start(env)
    const otherService = await start(await environment())
    const key = parseKey(first.stdout)!
    const orphan = postgresOf(env)
    await first.stop('SIGKILL')
    const second = await start(env)
    expect(await getStatus(second, key)).toBe(200)
    while (runs(orphan)) await sleep(20)
    expect(await getStatus(otherService, parseKey(otherService.stdout)!)).toBe(200)
    expect(await getStatus(otherService, key)).toBe(401)
  })
})
