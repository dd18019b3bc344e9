import 'reflect-metadata'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { commands } from '../../src/cli/run-command.js'
import { readConfig } from '../../src/platform/config/config.js'
import { secretVariables } from '../../src/platform/config/config-reader.js'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync(new URL('docs/', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const everything = pages.map(read).join('\n')

/** Rows in the configuration table, with `variable` and `default`. */
const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z0-9_]+)` \| ([^|]+) \|/gm)].map(([, name, standard]) => ({
  name: name!,
  standard: standard!,
}))

function listVariablesRead(): string[] {
  const requested = new Set<string>()
  const env = new Proxy({} as NodeJS.ProcessEnv, {
    get: (_target, name) => {
      requested.add(String(name))
      return undefined
    },
  })
  readConfig(env)
  return [...requested]
}

test('documents exactly the variables that the service reads', () => {
  const files = secretVariables.map((name) => `${name}_FILE`)
  expect([...rows.map(({ name }) => name), ...files].sort()).toEqual(listVariablesRead().sort())
})

test('documents exactly the variables that support secret files', () => {
  const sentence = /Secret files are supported for ([^.]+)\./.exec(read('docs/configuration.md'))![1]!
  expect([...sentence.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name).sort()).toEqual([...secretVariables].sort())
})

test('documents the numeric defaults of the service', () => {
  const config = readConfig({}) as unknown as Record<string, unknown>
  const camel = (name: string) => name.toLowerCase().replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
  const numbers = rows.filter(({ standard }) => /^\d+$/.test(standard))
  expect(numbers.length).toBeGreaterThan(6)
  expect(numbers.map(({ name, standard }) => [name, Number(standard)])).toEqual(
    numbers.map(({ name }) => [name, config[camel(name)]]),
  )
})

test('documents the Node.js versions in package.json and the container image', () => {
  const [, minimum] = /^>=(\d+\.\d+)$/.exec(JSON.parse(read('package.json')).engines.node)!
  const [, image] = /^ARG NODE_IMAGE=node:(\d+)-/m.exec(read('Dockerfile'))!
  expect(read('README.md')).toMatch(new RegExp(`Node\\.js\\s${minimum!.replace('.', '\\.')}, 22 or ${image}\\s\\(`))
  expect(read('docs/deploy.md')).toMatch(new RegExp(`^\\| ${minimum} or later \\| complete suite \\|`, 'm'))
  expect(read('docs/deploy.md')).toMatch(new RegExp(`^\\| ${image} \\| fresh start, tour and API tests \\|`, 'm'))
})

test('documents only existing npm scripts', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  expect(read('README.md').slice(0, 400)).toMatch(/^# Assay\n\n```sh\nnpm start .*\nnpm test /)
  const named = [...everything.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name!)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

test('documents exactly the existing operator commands', () => {
  const listed = /npm run --silent admin -- COMMAND\n\n([^`]+)```/.exec(read('docs/operations.md'))![1]!.trim().split('\n')
  expect(listed).toEqual(Object.values(commands).map(({ usage }) => usage.replace(/ \(.*\)$/, '')))
})

test('the architecture diagram includes every folder in src', () => {
  const picture = read('docs/architecture.md')
  const folders = readdirSync(new URL('src/', root), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name } of folders) expect(picture).toContain(`${name}/`)
  const below = (folder: string) => readdirSync(new URL(folder, root), { recursive: true }).map((path) => `/${folder}${path}`)
  const files = [...['src/', 'packages/', 'dashboard/', 'scripts/', 'test/'].flatMap(below), '/schema.graphql']
  const named = [...everything.matchAll(/(?<![*./\w-])(?:[a-z-]+\/)*[a-z-]+(?:\.[a-z]+)*\.(?:ts|graphql)\b/g)].map(
    ([path]) => path,
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((path) => !files.some((file) => file.endsWith(`/${path}`)))).toEqual([])
})

test('limits the README to 8 KB', () => {
  expect(Buffer.byteLength(read('README.md'))).toBeLessThanOrEqual(8192)
})

/** Returns the anchor that GitHub creates for a heading. */
const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')

test.each(pages)('%s links only to existing files in the repository', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].map(([, path, fragment]) => ({
    path,
    fragment,
  }))
  const damaged = links.filter(({ path, fragment }) => {
    const target = path ? new URL(path, new URL(page, root)) : new URL(page, root)
    if (!existsSync(target)) return true
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => toAnchor(heading!))
    return fragment !== undefined && !headings.includes(fragment)
  })
  expect(damaged).toEqual([])
})

test('docs/index.md links to every documentation page', () => {
  expect(read('README.md')).toContain('](docs/index.md)')
  const linked = [...read('docs/index.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, path]) => `docs/${path}`)
  expect(pages.filter((page) => page.startsWith('docs/') && ![...linked, 'docs/index.md'].includes(page))).toEqual([])
})

test('the container image includes llms.txt', () => {
  expect(read('Dockerfile')).toMatch(/^COPY llms\.txt \.\/$/m)
  expect(read('.dockerignore').split('\n')).not.toContain('llms.txt')
})

// Commits and images must not contain a data directory because it contains the master key.
test('Git and Docker ignore every suggested data directory', () => {
  const suggested = [...everything.matchAll(/DATA_DIR=(\S+)/g)].map(([, path]) => path!)
  expect(suggested.length).toBeGreaterThan(0)
  for (const path of ['.data', ...suggested]) expect(path).toMatch(/^(\.data[\w-]*|\/.+)$/)
  expect(read('.gitignore').split('\n')).toContain('.data*/')
  expect(read('.dockerignore').split('\n')).toContain('.data*')
})
