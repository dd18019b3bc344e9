import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseCommand, runCommand } from '../../src/cli/run-command.js'
import { readConfig } from '../../src/platform/config/config.js'
import { Lifecycle } from '../../src/platform/processes/lifecycle.js'
import type { World } from './world.js'

/** Environment for an operator command that runs alongside the service in `world`. */
export const createCommandEnv = (world: World, env: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: world.databaseUrl,
  MASTER_KEY: world.config.masterKey!.toString('base64'),
  DATA_DIR: world.dataDir,
  STORAGE_URL: world.config.storageUrl,
  SCANNER_URL: 'none:',
  ...env,
})

/** Runs an operator command in this process. */
export async function runAdminCommand(env: Record<string, string>, ...words: string[]) {
  const lifecycle = new Lifecycle()
  const printed: string[] = []
  const parts = { config: readConfig(env), lifecycle, print: (line: string) => void printed.push(line) }
  const outcome = await runCommand(parseCommand(words), parts).finally(() => lifecycle.close())
  return { ...outcome, printed }
}

/** Writes files below `root`, as another program would. */
export async function writeFiles(root: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

/** Returns path, outcome and reason of each report row. Paths must not contain commas. */
export async function readReport(path: string): Promise<string[][]> {
  const [head, ...rows] = (await readFile(path, 'utf8')).trimEnd().split('\r\n')
  if (head !== 'path,outcome,reason,message,file_id,size_bytes,checksum') throw new Error(`Unexpected columns: ${head}`)
  return rows.map((row) => row.split(',').slice(0, 3))
}
