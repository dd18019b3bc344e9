import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from './output.js'

export interface Settings {
  url: string
  key: string
}

type Environment = Record<string, string | undefined>

const getSettingsPath = (env: Environment): string =>
  join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), '.config'), 'assay', 'login.json')

/** Reads ASSAY_URL and ASSAY_KEY, or the stored login. Throws a UsageError if either value is missing. */
export async function readSettings(env: Environment): Promise<Settings> {
  const stored = await readFile(getSettingsPath(env), 'utf8').then(
    (text) => JSON.parse(text) as Partial<Settings>,
    () => ({}) as Partial<Settings>,
  )
  const url = env.ASSAY_URL ?? stored.url
  const key = env.ASSAY_KEY ?? stored.key
  if (!url || !key) throw new UsageError('Not signed in. Run `assay login --url URL`, or set ASSAY_URL and ASSAY_KEY.')
  return { url, key }
}

/** Stores the login in a file that only the current user can read, and returns its path. */
export async function storeSettings(env: Environment, settings: Settings): Promise<string> {
  const path = getSettingsPath(env)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(path, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
  return path
}
