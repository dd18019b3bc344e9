import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { transform } from '@swc/core'
import { World } from '../support/world.js'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'assay-tours-'))
let world: World

beforeAll(async () => {
  world = await World.open()
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Step {
  typed: string
  shown: string
}

/** Returns the code blocks in a tour, each with its documented output. */
function listSteps(page: string, language: string): Step[] {
  const text = readFileSync(new URL(`docs/${page}`, root), 'utf8')
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, content]) => ({ kind, content: content! }))
  return blocks.flatMap(({ kind, content }, place) => {
    const next = blocks[place + 1]
    return kind === language ? [{ typed: content, shown: next && next.kind !== language ? next.content : '' }] : []
  })
}

/** Converts documented output to a pattern. `…` matches any text. */
const toPattern = (text: string) => new RegExp(`^${text.trim().split('…').map(escapePattern).join('.*')}$`, 's')
const escapePattern = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

test('the SDK tour prints the documented output', async () => {
  const tenant = await world.createTenant()
  const steps = listSteps('tour-sdk.md', 'ts')
  const program = steps
    .map(({ typed }) => typed)
    .join('')
    .replaceAll("'@assay/client'", `'${new URL('packages/client/dist/index.js', root)}'`)
  const { code } = await transform(program, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } })
  const path = join(folder, 'tour.mjs')
  writeFileSync(path, code)
  const env = { PATH: process.env.PATH, ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }
  const { stdout } = await run(process.execPath, [path], { env })
  expect(steps.length).toBeGreaterThan(7)
  expect(stdout.trim()).toMatch(toPattern(steps.map(({ shown }) => shown).join('')))
})

test('the command-line tour prints the documented output', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('invoices', { allowed_extensions: ['csv', 'pdf', 'jpg'], max_file_size_mb: 10 })
  const steps = listSteps('tour-cli.md', 'sh')
  const end = '--- the next step ---'
  const typed = steps.map((step) =>
    step.typed.replace('http://localhost:8080', world.url).replace('assay_…', tenant.admin.credential!),
  )
  const program = fileURLToPath(new URL('packages/client/dist/command/main.js', root))
  const assay = `assay() { '${process.execPath}' '${program}' "$@"; }`
  const script = [assay, ...typed.map((lines) => `${lines}printf '%s\\n' '${end}'`)].join('\n')
  const { stdout } = await run('sh', ['-c', script], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } })
  const printed = stdout.split(`${end}\n`)
  expect(steps.length).toBeGreaterThan(6)
  for (const [place, { typed, shown }] of steps.entries())
    expect({ typed, printed: printed[place]!.trim() }).toEqual({ typed, printed: expect.stringMatching(toPattern(shown)) })
})

test('the documentation does not use unscoped packages, because anyone could register their names', () => {
  const folders = ['', 'docs/', 'packages/client/', 'packages/uploader/']
  const pages = folders.flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => /\.(md|txt)$/.test(name))
      .map((name) => folder + name),
  )
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'llms.txt', 'docs/client.md']))
  const text = (page: string) => readFileSync(new URL(page, root), 'utf8')
  // Only docs/client.md explains when `npx assay` works.
  const naming = pages.filter((page) => /npx assay|['"]assay\/client['"]/.test(text(page)))
  expect(naming).toEqual(['docs/client.md'])
})
