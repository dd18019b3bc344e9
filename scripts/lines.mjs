// npm run lines: lines of TypeScript for each folder of src/, as in docs/architecture.md.
// No package: it is a sum over a directory listing.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src', import.meta.url))

/** Lines by folder of src; its own files are `(root)`. What a tool generates counts for nothing. */
export function linesByFolder() {
  const lines = new Map()
  for (const entry of readdirSync(src, { withFileTypes: true, recursive: true })) {
    const path = relative(src, join(entry.parentPath ?? entry.path, entry.name))
    if (!entry.isFile() || !path.endsWith('.ts') || path.includes(`generated${sep}`)) continue
    const folder = path.includes(sep) ? path.slice(0, path.indexOf(sep)) : '(root)'
    const count = readFileSync(join(src, path), 'utf8').split('\n').length - 1
    lines.set(folder, (lines.get(folder) ?? 0) + count)
  }
  return lines
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sorted = [...linesByFolder()].sort(([, a], [, b]) => b - a)
  for (const [folder, count] of sorted) console.log(`${String(count).padStart(6)}  ${folder}`)
  console.log(`${String(sorted.reduce((sum, [, count]) => sum + count, 0)).padStart(6)}  in all`)
}
