import 'reflect-metadata'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { commands } from '../../src/cli/commands.js'
import { readConfig } from '../../src/config/config.js'

const root = new URL('../../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

const section = (title: string): string => {
  const start = readme.indexOf(`\n## ${title}\n`)
  expect(start).toBeGreaterThan(0)
  const end = readme.indexOf('\n## ', start + 4)
  return readme.slice(start, end < 0 ? undefined : end)
}

/** `variable` and `default` of every row of the configuration table. */
const rows = [...section('Configuration').matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \|/gm)].map(([, name, standard]) => ({
  name: name!,
  standard: standard!,
}))

/** Every variable that the configuration asks for, found by letting it read. */
function variablesRead(): string[] {
  const asked = new Set<string>()
  const env = new Proxy({} as NodeJS.ProcessEnv, {
    get: (_target, name) => {
      asked.add(String(name))
      return undefined
    },
  })
  readConfig(env)
  return [...asked]
}

test('the configuration table names every variable that is read, once, and no other', () => {
  expect(rows.map(({ name }) => name).sort()).toEqual(variablesRead().sort())
})

test('the defaults in the configuration table that are numbers are the real ones', () => {
  const config = readConfig({}) as unknown as Record<string, unknown>
  const camel = (name: string) => name.toLowerCase().replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
  const told = rows.filter(({ standard }) => /^\d+$/.test(standard))
  expect(told.length).toBeGreaterThan(6)
  expect(told.map(({ name, standard }) => [name, Number(standard)])).toEqual(told.map(({ name }) => [name, config[camel(name)]]))
})

test('it opens with the two commands, and names only npm scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { scripts: Record<string, string> }
  expect(readme.slice(0, 400)).toMatch(/^# Assay\n\n```sh\nnpm start .*\nnpm test /)
  const named = [...readme.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name!)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

test("the operator's commands are all listed, and no other", () => {
  const listed = /npm run --silent admin -- COMMAND\n\n([^`]+)```/.exec(section('Operations'))![1]!.trim().split('\n')
  expect(listed).toEqual(Object.values(commands).map(({ usage }) => usage.replace(/ \(.*\)$/, '')))
})

test('every folder of src has its place in the picture, and every file that is named is there', () => {
  const picture = section('Architecture')
  const folders = readdirSync(new URL('src/', root), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  for (const { name } of folders) expect(picture).toContain(`${name}/`)
  const below = (folder: string) => readdirSync(new URL(folder, root), { recursive: true }).map((path) => `/${folder}${path}`)
  const files = [...below('src/'), ...below('test/'), '/schema.graphql']
  const named = [...readme.matchAll(/(?<![*./\w-])(?:[a-z-]+\/)*[a-z-]+(?:\.[a-z]+)*\.(?:ts|graphql)\b/g)].map(([path]) => path)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((path) => !files.some((file) => file.endsWith(`/${path}`)))).toEqual([])
})
