import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuleSource } from './rules.js'

export interface OperatorRules {
  sources: RuleSource[]
  changedAt: Date | null
}

/**
 * Reads the operator's rules: all *.yar and *.yara files in the folder and its subfolders, sorted by path. Errors name the path.
 */
export async function readRulesDir(dir: string): Promise<OperatorRules> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((error) => {
    throw new Error(
      `RULES_DIR '${dir}' cannot be read (${error.code ?? error.message}). It must be a directory with *.yar or *.yara files.`,
    )
  })
  const paths = entries
    .filter((entry) => /\.yara?$/i.test(entry.name) && !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  if (paths.length === 0) throw new Error(`RULES_DIR '${dir}' contains no *.yar or *.yara files. Add rules, or unset RULES_DIR.`)
  const sources = await Promise.all(paths.map(async (path) => ({ origin: path, text: await readFile(path, 'utf8') })))
  const times = await Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs))
  return { sources, changedAt: new Date(Math.max(...times)) }
}
