import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { transform } from '@swc/core'
import { describeWith, partPath } from '../support/real-parts.js'
import { type TestTenant, World } from '../support/world.js'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'assay-guides-'))
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  world = await World.open()
  tenant = await world.tenant()
  await tenant.context('invoices', { allowed_extensions: ['csv', 'jpg'] })
  env = { PATH: process.env.PATH, ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The blocks of one guide, in their order. */
function blocksOf(title: string): string[] {
  const page = readFileSync(new URL('../../docs/guides.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf(`\n## ${title}`)).split('\n## ')[1]!
  return [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
}

describeWith('python3')('the guide for Python', () => {
  test('uploads, downloads and reads a refusal, and prints what it shows', async () => {
    const [program, shown] = blocksOf('From Python')
    const { stdout } = await run(partPath('python3'), ['-c', program!], { env })
    expect(stdout).toBe(shown)
  })
})

test('the route of the guide for Next.js hands a form on, and the answer back', async () => {
  const [route] = blocksOf('From a Next.js route')
  const { code } = await transform(route!, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } })
  writeFileSync(join(folder, 'route.mjs'), code)
  const caller = `
    import { POST } from './route.mjs'
    const form = new FormData()
    form.append('context', 'another')
    form.append('file', new Blob(['id,amount\\n2,7.00\\n']), 'second.csv')
    const answer = await POST(new Request('http://localhost/api/upload', { method: 'POST', body: form }))
    console.log(JSON.stringify([answer.status, await answer.json()]))`
  writeFileSync(join(folder, 'caller.mjs'), caller)
  const { stdout } = await run(process.execPath, [join(folder, 'caller.mjs')], { env })
  expect(JSON.parse(stdout)).toEqual([
    201,
    expect.objectContaining({ data: expect.objectContaining({ original_filename: 'second.csv', context_key: 'invoices' }) }),
  ])
})
