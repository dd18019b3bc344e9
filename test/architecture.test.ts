import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Folders of src/ from the outermost to the innermost. A folder may import only later ones. */
const layers = ['cli', 'features', 'api', 'access', 'ledger', 'inspection', 'platform']

/** Workspace packages, which the service imports by name and which must not import the service. */
const packages = ['packages/formats', 'packages/proofs', 'packages/client', 'packages/uploader']

/** Maps each feature to the features whose services and types it may import. */
const features: Record<string, string[]> = {
  tenants: ['api-keys', 'users'],
  users: ['api-keys', 'audit-logs'],
  'api-keys': ['call-logs', 'contexts'],
  contexts: [],
  files: ['contexts'],
  previews: ['files'],
  adoption: ['contexts', 'files', 'lifecycle'],
  uploads: ['files'],
  'upload-links': ['contexts', 'files'],
  lifecycle: ['contexts', 'files'],
  rescan: ['contexts', 'lifecycle'],
  'call-logs': ['files'],
  'audit-logs': ['api-keys'],
  stats: [],
  events: [],
  webhooks: ['events'],
  proof: ['call-logs', 'contexts'],
  exports: ['audit-logs', 'call-logs'],
  maintenance: ['lifecycle', 'tenants', 'uploads', 'users', 'webhooks'],
}

/** Files in features/ that connect the features. */
const wiring = ['features/services', 'features/resolvers', 'features/handlers']

interface Import {
  file: string
  target: string
}

/** Returns the source files below `folder` by path without extension. */
function listSources(folder: string): Map<string, string> {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const sources = names.filter((name) => /\.tsx?$/.test(name) && !/(^|\/)(generated|node_modules|dist)\//.test(name))
  return new Map(sources.map((name) => [name.replace(/\.tsx?$/, ''), join(root, folder, name)]))
}

/** Returns the relative imports of all files below `folder`, including type imports and re-exports. */
function listImports(folder: string): Import[] {
  return [...listSources(folder)].flatMap(([file, path]) =>
    [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, target]) => ({
      file,
      target: relative(join(root, folder), resolve(dirname(path), target!)).replace(/\.js$/, ''),
    })),
  )
}

const sources = listSources('src')
const imports = listImports('src')
const partOf = (file: string, index: number) => (file.split('/').length > index + 1 ? file.split('/')[index]! : '')
const layerOf = (file: string) => partOf(file, 0)
const featureOf = (file: string) => (layerOf(file) === 'features' ? partOf(file, 1) : '')

test('does not read `this` in the initializers of #private fields', () => {
  // SWC, which compiles the tests, orders initializers differently from TypeScript, so only the compiled service would fail.
  const initializer = /^ {2}(readonly )?#\w+(: [^=]+)? = (?!.*=>).*\bthis\./
  const found = [...sources].flatMap(([file, path]) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => initializer.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

describe('imports between folders', () => {
  test('allows only seven layer folders, main.ts and app.ts in src', () => {
    const entries = readdirSync(join(root, 'src'), { withFileTypes: true })
    const found = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(found.sort()).toEqual([...layers].sort())
    expect([...sources.keys()].filter((file) => !file.includes('/')).sort()).toEqual(['app', 'main'])
  })

  test('lets each layer import only from inner layers', () => {
    const upward = imports
      .filter(({ file, target }) => layerOf(file) && layers.indexOf(layerOf(target)) < layers.indexOf(layerOf(file)))
      .map(
        ({ file, target }) =>
          `src/${file}.ts must not import src/${target}.ts, because ${layerOf(file)} comes after ${layerOf(target) || 'app.ts'} in ${layers.join(' → ')}. ` +
          `Move what both need into ${layerOf(file)} or a folder after it, or pass it in from app.ts.`,
      )
    expect(upward).toEqual([])
  })

  test('lets a feature import only services and types, and only from its declared dependencies', () => {
    const between = imports.filter(({ file, target }) => {
      const [from, to] = [featureOf(file), featureOf(target)]
      return to !== '' && from !== to && layerOf(file) === 'features' && !wiring.includes(file)
    })
    const forbidden = between.filter(
      ({ file, target }) => !(features[featureOf(file)]?.includes(featureOf(target)) && /\.(service|types)$/.test(target)),
    )
    expect(forbidden.map(({ file, target }) => `${file} -> ${target}`)).toEqual([])
    // Every listed feature must exist, and every listed import must be used.
    expect([...new Set([...sources.keys()].map(featureOf).filter(Boolean))].sort()).toEqual(Object.keys(features).sort())
    const unused = Object.entries(features).flatMap(([from, targets]) =>
      targets
        .filter((to) => !between.some(({ file, target }) => featureOf(file) === from && featureOf(target) === to))
        .map((to) => `${from} -> ${to}`),
    )
    expect(unused).toEqual([])
  })

  test('requires types, a resolver and a service in every feature folder', () => {
    const kinds = Object.keys(features).map((feature) => {
      const names = [...sources.keys()].filter((file) => featureOf(file) === feature)
      return [feature, ['types', 'resolver', 'service'].filter((kind) => !names.some((name) => name.endsWith(`.${kind}`)))]
    })
    expect(Object.fromEntries(kinds.filter(([, missing]) => missing!.length > 0))).toEqual({
      // Features that offer a command, data streams or the tus protocol instead of GraphQL.
      adoption: ['types', 'resolver'],
      exports: ['types', 'resolver'],
      uploads: ['types', 'resolver'],
    })
  })

  test('separates GraphQL modules from REST modules', () => {
    const isOf = (file: string, name: string) => file.startsWith(`api/${name}/`)
    const crossing = imports.filter(
      ({ file, target }) => (isOf(file, 'graphql') && isOf(target, 'rest')) || (isOf(file, 'rest') && isOf(target, 'graphql')),
    )
    expect(crossing).toEqual([])
  })

  test.each(['src', 'scripts/openapi', ...packages.map((name) => `${name}/src`), 'dashboard'])(
    'finds no import cycle in the folder %s',
    (folder) => {
      expect(findCycles(listImports(folder))).toEqual([])
    },
  )

  test('the folder import graph has no cycles and at most 12 levels', () => {
    const edges = imports.filter(({ file, target }) => layerOf(file) && layerOf(target) && layerOf(file) !== layerOf(target))
    const folders = edges.map(({ file, target }) => ({ file: layerOf(file), target: layerOf(target) }))
    expect(findCycles(folders)).toEqual([])
    const depth = (folder: string): number =>
      1 + Math.max(0, ...[...new Set(folders.filter(({ file }) => file === folder).map(({ target }) => target))].map(depth))
    expect(Math.max(...layers.map(depth))).toBeLessThanOrEqual(12)
  })

  test.each([...packages.map((name) => `${name}/src`), 'dashboard'])('%s does not import from the service', (folder) => {
    expect(listImports(folder).filter(({ target }) => target.startsWith('..'))).toEqual([])
    for (const [file, path] of listSources(folder))
      expect([file, /from '(@assay\/(?!formats|proofs|client)|.*\/src\/)/.test(readFileSync(path, 'utf8'))]).toEqual([
        file,
        false,
      ])
  })
})

/** Finds import cycles and returns each as its files in order. */
function findCycles(edges: Import[]): string[] {
  const targets = new Map<string, string[]>()
  for (const { file, target } of edges) targets.set(file, [...(targets.get(file) ?? []), target])
  const done = new Set<string>()
  const path: string[] = []
  const cycles: string[] = []
  const visit = (file: string) => {
    if (done.has(file)) return
    const start = path.indexOf(file)
    if (start >= 0) {
      cycles.push([...path.slice(start), file].join(' -> '))
      return
    }
    path.push(file)
    for (const target of targets.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }
  for (const file of targets.keys()) visit(file)
  return cycles
}

test('reads environment variables only in configuration modules', () => {
  const readers = [...sources].filter(([, path]) =>
    /\bprocess\.env\b/.test(readFileSync(path, 'utf8').replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '')),
  )
  expect(readers.map(([file]) => file)).toEqual(['platform/config/config'])
})

test('requires kebab-case file names and named exports', () => {
  for (const [file, path] of [...sources, ...listSources('scripts/openapi')]) {
    const name = file.slice(file.lastIndexOf('/') + 1)
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*(\.(service|resolver|types|lookup))?$/)
    expect(name).not.toMatch(/^(utils?|helpers?|common|misc)$/)
    expect([file, /^export default/m.test(readFileSync(path, 'utf8'))]).toEqual([file, false])
  }
})

// Biome limits functions to 50 lines (biome.json).
test.each(['src', 'scripts/openapi', ...packages.map((name) => `${name}/src`)])('limits files in %s to 300 lines', (folder) => {
  const lengths = [...listSources(folder)].map(
    ([file, path]) => [file, readFileSync(path, 'utf8').trimEnd().split('\n').length] as const,
  )
  expect(lengths.length).toBeGreaterThan(0)
  expect(lengths.filter(([, lines]) => lines > 300)).toEqual([])
})

/** Returns the files in test/ that a test file imports directly or indirectly. */
function listSupportFiles(file: string, found = new Set<string>()): Set<string> {
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)) {
    const target = `${resolve(dirname(file), path!)}.ts`
    if (!target.startsWith(join(root, 'test')) || found.has(target) || !existsSync(target)) continue
    listSupportFiles(target, found.add(target))
  }
  return found
}

test('unit tests use no database', () => {
  const database = join(root, 'test/support/database.ts')
  const tests = readdirSync(join(root, 'test/unit')).map((name) => join(root, 'test/unit', name))
  expect(tests.filter((path) => listSupportFiles(path).has(database))).toEqual([])
  expect(listSupportFiles(join(root, 'test/database/ledger.test.ts'))).toContain(database)
})

test('finds every function listed in the steps of docs/architecture.md', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const steps = [...text.matchAll(/^\| `([\w/.-]+\.ts)`[^|›]*› ([^|]+)\|/gm)]
  expect(steps.length).toBeGreaterThan(40)
  const missing = steps.flatMap(([, file, functions]) => {
    const source = readFileSync(join(root, file!.startsWith('packages/') ? '' : 'src', file!), 'utf8')
    const names = [...functions!.matchAll(/`(?:\w+\.)?([\w#]+)`/g)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(0)
    const isDeclared = (name: string) =>
      new RegExp(`(?:function\\*? |const |class |^  (?:static |readonly |async )*\\*?)${name}\\b`, 'm').test(source)
    return names.filter((name) => !isDeclared(name)).map((name) => `${file}: ${name}`)
  })
  expect(missing).toEqual([])
})
