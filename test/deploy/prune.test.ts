import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))
const script = <Module>(name: string) => import(`${root}/scripts/${name}`) as Promise<Module>
type Skips = (parent: string, name: string) => boolean

let folder: string
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'assay-prune-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

test('runs prisma generate with only the installed files and no network access', async () => {
  const { findNeededPackages } = await script<{ findNeededPackages(packages: object, skips: Skips): Set<string> }>(
    'package-tree.mjs',
  )
  const { isUnusedDependency, isUnusedFile } = await script<{
    isUnusedDependency: Skips
    isUnusedFile(path: string): boolean
  }>('prune.mjs')
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as { packages: object }
  const installed = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/'))
  const prismaOnly = { ...Object.fromEntries(installed), '': { dependencies: { prisma: '*' } } }
  for (const path of findNeededPackages(prismaOnly, isUnusedDependency)) {
    if (path === '') continue
    const from = join(root, path)
    // Nested packages are separate entries in the list.
    const filter = async (file: string) => {
      const inside = file.slice(from.length)
      if ((await stat(file)).isDirectory()) return !inside.includes('/node_modules')
      return !isUnusedFile(`${path}${inside}`.slice('node_modules/'.length))
    }
    await cp(from, join(folder, path), { recursive: true, filter })
  }
  for (const name of ['prisma/schema.prisma', 'prisma/prisma.config.ts']) await cp(join(root, name), join(folder, name))
  await mkdir(join(folder, 'src', 'platform', 'db'), { recursive: true })

  const prisma = join(folder, 'node_modules/prisma/build/index.js')
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: prisma, CHECKPOINT_DISABLE: '1', HTTPS_PROXY: 'http://127.0.0.1:1' }
  const args = [prisma, 'generate', '--config', join(folder, 'prisma/prisma.config.ts'), '--no-hints']
  await promisify(execFile)(process.execPath, args, { cwd: folder, env })

  const generated = join(folder, 'src/platform/db/generated')
  const built = join(root, 'src/platform/db/generated')
  const names = (await readdir(built)).filter((name) => name !== '.generated-from')
  expect((await readdir(generated)).sort()).toEqual(names.sort())
  for (const name of ['client.ts', 'models/File.ts', 'internal/class.ts'])
    expect(await readFile(join(generated, name), 'utf8')).toBe(await readFile(join(built, name), 'utf8'))
})

test('keeps nested, optional and peer dependencies while pruning', async () => {
  const { findNeededPackages } = await script<{ findNeededPackages(packages: object, skips: Skips): Set<string> }>(
    'package-tree.mjs',
  )
  const packages = {
    '': { dependencies: { a: '1' }, devDependencies: { d: '1' } },
    'node_modules/a': {
      dependencies: { b: '1', skipped: '1' },
      optionalDependencies: { '@o/linux': '1' },
      peerDependencies: { p: '1', q: '1' },
      peerDependenciesMeta: { q: { optional: true } },
    },
    'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
    ...Object.fromEntries(['b', 'c', 'd', 'p', 'q', 'skipped', '@o/linux'].map((name) => [`node_modules/${name}`, {}])),
    'packages/w': { dependencies: { e: '1' } },
    'packages/w/node_modules/e': {},
  }
  const skips: Skips = (parent, name) => parent === 'a' && name === 'skipped'
  expect([...findNeededPackages(packages, skips)].filter((path) => path !== '').sort()).toEqual([
    'node_modules/@o/linux',
    'node_modules/a',
    'node_modules/a/node_modules/b',
    'node_modules/c',
    'node_modules/p',
    'packages/w',
    'packages/w/node_modules/e',
  ])
})
