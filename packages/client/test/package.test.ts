import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from '@jest/globals'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'assay-client-package-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('creates an npm package of less than 1 MB that runs without the server code', async () => {
  const pack = ['pack', '--json', '--pack-destination', folder, '--workspace', '@assay/client']
  const { stdout } = await run('npm', pack, { cwd: root })
  const [{ filename, size, files }] = JSON.parse(stdout) as [{ filename: string; size: number; files: { path: string }[] }]
  expect(size).toBeLessThan(1_000_000)
  expect(files.every(({ path }) => /^(dist\/|README\.md$|package\.json$)/.test(path))).toBe(true)

  // Install the archive and its only dependency as `npm install` would, but without a registry.
  const installed = join(folder, 'node_modules', '@assay', 'client')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components', '1'])
  const { dependencies, exports, main, types, bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(dependencies)).toEqual(['tus-js-client'])
  symlinkSync(join(root, 'node_modules', 'tus-js-client'), join(folder, 'node_modules', 'tus-js-client'))
  const { import: esModule, require: commonJs } = exports['.']
  for (const path of [esModule.types, esModule.default, commonJs.types, commonJs.default, main, types, bin.assay])
    expect(readFileSync(join(installed, path), 'utf8')).not.toBe('')

  writeFileSync(
    join(folder, 'try.mjs'),
    `import { createClient, isAssayError } from '@assay/client'
const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key' })
console.log(typeof client.files.upload, isAssayError(new Error()))`,
  )
  expect((await run(process.execPath, [join(folder, 'try.mjs')])).stdout).toBe('function false\n')
  const command = (...args: string[]) => run(process.execPath, [join(installed, bin.assay), ...args])
  expect((await command('upload', '--help')).stdout).toContain('Usage: assay upload FILE')
  await expect(command('verify', 'missing.jws', '--keys', 'missing.json')).rejects.toMatchObject({
    code: 2,
    stderr: 'File missing.json does not exist.\n',
  })
})
