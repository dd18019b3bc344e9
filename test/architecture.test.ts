import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'

const source = fileURLToPath(new URL('../src', import.meta.url))

/** Technique, from the lowest floor to the highest: each knows those before it, none after it, and no room. */
const base = [
  'spelling',
  'block-reasons',
  'error-codes',
  'errors',
  'time-limit',
  'tracing',
  'plain-text',
  'units',
  'disk-reserve',
  'run-names',
  'fault-points',
  'lifecycle',
  'listen',
  'log-output',
  'drain',
  'db',
  'clock',
  'ids',
  'cursors',
  'public-error',
  'transparency',
  'config',
  'formats',
  'workers',
  'body',
  'scanner',
  'validation',
  'auth',
  'storage',
  'journal',
  'ledger',
  'processes',
  'metrics',
  'admission',
  'graphql',
  'rest',
  'openapi',
  'http',
]

/** The rooms, and the other rooms that each may ask: their `*.service` and `*.type` alone. */
const rooms: Record<string, string[]> = {
  tenants: [],
  users: ['api-keys', 'audit-logs'],
  'api-keys': ['call-logs', 'file-contexts'],
  'file-contexts': [],
  files: ['file-contexts'],
  rescan: ['file-contexts', 'quarantine'],
  quarantine: ['file-contexts'],
  trash: ['file-contexts', 'files'],
  holds: ['file-contexts', 'files'],
  'call-logs': ['files'],
  'audit-logs': ['api-keys'],
  events: [],
  stats: [],
  exports: ['audit-logs', 'call-logs'],
  proof: ['call-logs', 'file-contexts'],
  uploads: ['files'],
  webhooks: ['events'],
  maintenance: ['tenants', 'trash', 'uploads', 'users', 'webhooks'],
  cli: ['users'],
  dashboard: ['users'],
  client: [],
}

/** What wires the rooms together, and the programs that start from there. */
const wiring = [
  'app',
  'doors',
  'services',
  'resolvers',
  'bootstrap',
  'banner',
  'serve',
  'serving',
  'ending',
  'main',
  'body/json',
  'processes/application',
  'processes/place',
  'processes/service',
  'processes/serving-process',
  'cli/schema',
]

/** What the lists do not allow, each with its reason; a line that is no longer needed must go. */
const exceptions: Record<string, string> = {
  'files/upload-blobs -> file-contexts/storage-path': 'the template is the context’s, and so is how it is filled in',
  'uploads/tus-request -> files/filename': 'a name is judged together with all else that is at fault in a creation',
  'cli/storage-commands -> maintenance/sweeper': 'the operator sweeps now what the sweeper sweeps in time',
  'cli/storage-commands -> maintenance/sweep-pause': 'and may tell it not to',
}

interface Import {
  file: string
  target: string
}

/** What each file is without its ending. */
const paths = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/(db|browser)\/generated\//.test(name))
    .map((name) => [name.replace(/\.tsx?$/, ''), name]),
)
const files = [...paths.keys()]
const textOf = (file: string) => readFileSync(join(source, paths.get(file)!), 'utf8')
const imports: Import[] = files.flatMap((file) =>
  [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => ({
    file,
    target: relative(source, resolve(source, dirname(file), path!)).replace(/\.js$/, ''),
  })),
)
const folderOf = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/')) : '')
/** The folder, or the file where it stands at the root. */
const floorOf = (file: string) => folderOf(file) || file

function allowed({ file, target }: Import): boolean {
  const [from, to] = [folderOf(file), folderOf(target)]
  if (wiring.includes(file)) return true
  // The command line works on the services themselves, without the application around them.
  if (to === '' && wiring.includes(target)) return from === 'cli' && target === 'services'
  if (!(to in rooms) || from === to) return true
  return (rooms[from] ?? []).includes(to) && /\.(service|type)$/.test(target)
}

describe('who may import whom', () => {
  test('every folder is base or a room, and every file at the root is base or wiring', () => {
    const floors = new Set(files.map(floorOf))
    const known = [...base, ...Object.keys(rooms), ...wiring.filter((name) => !name.includes('/'))]
    expect([...floors].sort()).toEqual(known.sort())
  })

  test('base imports base, downwards only: no file knows of what stands above it', () => {
    const upwards = imports
      .filter(
        ({ file, target }) =>
          !wiring.includes(file) && base.includes(floorOf(file)) && base.indexOf(floorOf(target)) > base.indexOf(floorOf(file)),
      )
      .map(({ file, target }) => `${file} must not import ${target}: ${floorOf(target)} stands above ${floorOf(file)}`)
    expect(upwards).toEqual([])
  })

  test('base imports no room; a room imports base, and other rooms along the arrows', () => {
    const forbidden = imports.filter((each) => !allowed(each)).map(({ file, target }) => `${file} -> ${target}`)
    expect(forbidden.filter((each) => !(each in exceptions))).toEqual([])
    expect(Object.keys(exceptions).filter((each) => !forbidden.includes(each))).toEqual([])
  })

  test('what runs in the browser imports nothing of the service, nor the service of it', () => {
    const isPage = (file: string) => file.startsWith('dashboard/browser/')
    expect(imports.filter(({ file, target }) => isPage(file) !== isPage(target))).toEqual([])
  })

  test('GraphQL and REST import nothing of each other: what both need is below them', () => {
    const doors = ['graphql', 'rest']
    const crossing = imports.filter(
      ({ file, target }) => doors.includes(floorOf(file)) && doors.includes(floorOf(target)) && floorOf(file) !== floorOf(target),
    )
    expect(crossing).toEqual([])
  })

  test('every arrow is walked by somebody', () => {
    const unused = Object.entries(rooms).flatMap(([from, targets]) =>
      targets
        .filter((to) => !imports.some(({ file, target }) => folderOf(file) === from && folderOf(target) === to))
        .map((to) => `${from} -> ${to}`),
    )
    expect(unused).toEqual([])
  })

  test('the rooms’ services do not ask each other in circles', () => {
    const next = (file: string) =>
      imports.filter((each) => each.file === file && /\.service$/.test(each.target)).map(({ target }) => target)
    const reach = (file: string, seen: Set<string>): Set<string> => {
      for (const target of next(file))
        if (!seen.has(target)) {
          seen.add(target)
          reach(target, seen)
        }
      return seen
    }
    const circles = files.filter((file) => /\.service$/.test(file) && reach(file, new Set()).has(file))
    expect(circles).toEqual([])
  })
})

test('only config/config.ts reads the environment, and the command line of users its own', () => {
  const readers = files.filter((file) => /\bprocess\.env\b/.test(textOf(file).replace(/\/\/.*|\/\*[\s\S]*?\*\//g, '')))
  expect(readers.sort()).toEqual(['client/command/main', 'config/config'])
})

test('names are kebab-case, exports are named, and nothing is called utils', () => {
  for (const file of files) {
    const name = file.slice(file.lastIndexOf('/') + 1)
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*(\.(service|resolver|type|lookup))?$/)
    expect(name).not.toMatch(/^(utils?|helpers?|common|misc)$/)
    expect([file, /^export default/m.test(textOf(file))]).toEqual([file, false])
  }
})

/** Words of our own where the field has one, or a plainer sentence says more. */
const forbiddenWords =
  /\b(whoever|nobody|told of|casualty|casualties|bury|buried|hired?|left-?overs?|blind spots?|unwinder|stories|face ?of)\b/gi

test('sources use the plain words of the field, in comments, names and descriptions', () => {
  const found = files.flatMap((file) => [...textOf(file).matchAll(forbiddenWords)].map(([word]) => `${file}: ${word}`))
  expect(found).toEqual([])
})

test.each([
  ['nothing is exported, imported or installed without a use', 'knip', 'knip/bin/knip.js', ['--treat-config-hints-as-errors']],
  ['every file passes the linter and is formatted', 'biome', '@biomejs/biome/bin/biome', ['check', '--colors=off', '.']],
])('%s (%s)', async (_, _name, program, args) => {
  const run = promisify(execFile)
  const root = fileURLToPath(new URL('..', import.meta.url))
  const output = await run(process.execPath, [join(root, 'node_modules', program), ...args], { cwd: root }).then(
    () => 'nothing to mend',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
  expect(output).toBe('nothing to mend')
})

/** What a test file takes from `test/`, directly or by way of another file there. */
function supportOf(file: string, found = new Set<string>()): Set<string> {
  for (const [, path] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)\.js'/g)) {
    const target = `${resolve(dirname(file), path!)}.ts`
    if (target.startsWith(source) || found.has(target)) continue
    supportOf(target, found.add(target))
  }
  return found
}

test('no unit test asks for a database: those that do are in test/database', () => {
  const folder = fileURLToPath(new URL('unit', import.meta.url))
  const database = fileURLToPath(new URL('support/database.ts', import.meta.url))
  const tests = readdirSync(folder).map((name) => join(folder, name))
  expect(tests.filter((path) => supportOf(path).has(database))).toEqual([])
  expect(supportOf(join(folder, '../database/ledger.test.ts'))).toContain(database)
})
