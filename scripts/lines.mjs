// npm run lines: prints the lines of TypeScript per folder of src/, per package, for the dashboard and for the OpenAPI generator.
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Counts the lines of TypeScript in a folder, excluding generated code. Includes subfolders by default. */
function countLines(folder, { recursive = true } = {}) {
  let lines = 0
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    if (!entry.isFile() || !/\.tsx?$/.test(path) || path.split(sep).includes('generated')) continue
    lines += readFileSync(path, 'utf8').split('\n').length - 1
  }
  return lines
}

const listFolders = (folder) =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

function printLines(parts) {
  const sorted = Object.entries(parts).sort(([, a], [, b]) => b - a)
  for (const [name, lines] of sorted) console.log(`${String(lines).padStart(6)}  ${name}`)
  return sorted.reduce((sum, [, lines]) => sum + lines, 0)
}

const service = printLines({
  ...Object.fromEntries(listFolders('src').map((name) => [`src/${name}`, countLines(`src/${name}`)])),
  'src/main.ts, src/app.ts': countLines('src', { recursive: false }),
})
console.log(`${String(service).padStart(6)}  src/ in total\n`)
printLines({
  ...Object.fromEntries(listFolders('packages').map((name) => [`packages/${name}`, countLines(`packages/${name}/src`)])),
  dashboard: countLines('dashboard'),
  'scripts/openapi': countLines('scripts/openapi'),
})
