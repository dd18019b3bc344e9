import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { describeIf } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const tools = join(here, 'node_modules')
const bin = (name: string) => join(tools, '.bin', name)

interface Run {
  status: number | null
  output: string
}

/** Runs a program. Returns its exit status and its output. */
function run(program: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, env: { ...process.env, ...options.env, NODE_OPTIONS: '', CI: 'true' } })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    child.on('error', reject).on('close', (status) => resolve({ status, output }))
  })
}

/** Three generators of REST clients, and two GraphQL clients with documents typed by graphql-codegen. */
const names = ['openapi-typescript', 'hey-api', 'orval', 'apollo', 'urql']

describeIf(existsSync(tools), 'their generators are not installed (npm ci --prefix test/clients)')('generated clients', () => {
  let world: World
  let tenant: TestTenant
  let folder: string
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    folder = await mkdtemp(join(tmpdir(), 'assay-clients-'))
    await symlink(tools, join(folder, 'node_modules'))
    await writeFile(join(folder, 'openapi.json'), JSON.stringify((await world.unauthenticated.raw('/api/v1/openapi.json')).body))
    for (const name of ['package.json', 'generate.mjs', 'sessions', '.spectral.yaml', 'redocly.yaml'])
      await cp(join(here, name), join(folder, name), { recursive: true })
    env = { ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }
    const created = await run(process.execPath, ['generate.mjs', 'openapi.json', 'sessions/generated'], { cwd: folder, env })
    expect(created).toMatchObject({ status: 0 })
    const strict = ['--strict', '--noUncheckedIndexedAccess', '--module', 'nodenext', '--moduleResolution', 'bundler']
    const options = [...strict, '--module', 'esnext', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--skipLibCheck']
    const sessions = names.map((name) => `sessions/${name}.ts`)
    expect(await run(bin('tsc'), [...options, '--types', 'node', '--outDir', 'built', ...sessions], { cwd: folder })).toEqual({
      status: 0,
      output: '',
    })
  }, 300_000)
  afterAll(async () => {
    await world.close()
    await rm(folder, { recursive: true, force: true })
  })

  test.each(names)('uploads, lists and downloads files with a client built with %s', async (name) => {
    const own = await world.createTenant()
    await own.createContext('notes', { allowed_extensions: ['txt'] })
    const session = await run(process.execPath, ['--experimental-specifier-resolution=node', `built/${name}.js`], {
      cwd: folder,
      env: { ...env, ASSAY_KEY: own.admin.credential },
    })
    expect(session).toEqual({ status: 0, output: 'done\n' })
  })

  test('generates the same types for @assay/client as openapi-typescript does', async () => {
    const own = fileURLToPath(new URL('../../packages/client/src/generated/openapi.ts', import.meta.url))
    await cp(own, join(folder, 'sessions/generated/own.ts'))
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--types', 'node', 'sessions/own-types.ts']
    expect(await run(bin('tsc'), options, { cwd: folder })).toEqual({ status: 0, output: '' })
  })

  test('the OpenAPI document passes the checks of Redocly and Spectral', async () => {
    const redocly = await run(bin('redocly'), ['lint', 'openapi.json', '--format=stylish'], { cwd: folder })
    expect([redocly.status, redocly.output]).toEqual([0, expect.not.stringMatching(/\bwarning\b(?!:)/i)])
    const spectral = await run(bin('spectral'), ['lint', 'openapi.json', '--fail-severity=hint'], { cwd: folder })
    expect(spectral).toMatchObject({ status: 0 })
  })
})
