import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClamdOptions, ClamdScanner } from '../clamd/clamd.js'
import { createClamscanConnector } from './program.js'

const validUrls = "'clamscan:', 'clamscan:?database=/path' or 'clamscan:?program=clamdscan&config=/path/to/clamd.conf'"
const parameters = new Set(['program', 'database', 'config'])

interface ClamscanUrl {
  program: 'clamscan' | 'clamdscan'
  database?: string
  config?: string
}

export function parseClamscanUrl(url: string): ClamscanUrl {
  const [, query = ''] = /^clamscan:(?:\?(.*))?$/.exec(url) ?? []
  const parameterValues = new URLSearchParams(query)
  const program = parameterValues.get('program') ?? 'clamscan'
  const known = /^clamscan:(\?|$)/.test(url) && [...parameterValues.keys()].every((key) => parameters.has(key))
  const fits =
    program === 'clamscan' ? !parameterValues.has('config') : program === 'clamdscan' && !parameterValues.has('database')
  if (!known || !fits) throw new Error(`SCANNER_URL '${url}' is not a valid clamscan URL. It must be ${validUrls}.`)
  const [database, config] = [parameterValues.get('database'), parameterValues.get('config')]
  return { program: program as ClamscanUrl['program'], ...(database && { database }), ...(config && { config }) }
}

const mebibyte = 1024 * 1024
/** Limits for `clamscan`, set as high as possible. ClamAV does not scan files larger than 2 GB. */
const limits = { largest: 2000 * mebibyte, total: 4000 * mebibyte }

/**
 * Flags for each program, and its maximum number of concurrent processes. Each `clamscan` process loads the database (1 GB), so
 * only two run at a time.
 */
const programs = {
  clamscan: {
    concurrent: 2,
    flags: [
      '--stdout',
      '--alert-encrypted=yes',
      '--alert-exceeds-max=yes',
      `--max-filesize=${limits.largest / mebibyte}M`,
      `--max-scansize=${limits.total / mebibyte}M`,
    ],
  },
  clamdscan: { concurrent: 8, flags: ['--fdpass'] },
}

/**
 * Opens a scanner that runs ClamAV's command-line scanner (`clamscan`, or `clamdscan --fdpass`). A clean verdict has the same
 * requirements as with clamd.
 */
export async function openClamscan(
  url: string,
  options: Pick<ClamdOptions, 'logger' | 'pool' | 'directory'> = {},
): Promise<ClamdScanner> {
  const { program, database, config } = parseClamscanUrl(url)
  const path = await findProgram(program)
  for (const file of [database, config])
    if (file && !(await isAccessible(file, constants.R_OK)))
      throw new Error(`SCANNER_URL contains the path '${file}', which cannot be read.`)
  const files = [...(database ? [`--database=${database}`] : []), ...(config ? [`--config-file=${config}`] : [])]
  const { flags, concurrent } = programs[program]
  return new ClamdScanner([{ label: program, connect: { path } }], {
    connector: createClamscanConnector({ path, flags: ['--no-summary', ...files, ...flags] }),
    connections: concurrent,
    ...options,
    ...(program === 'clamscan' && { declared: limits }),
  })
}

const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin']

/** Returns the path of a ClamAV program. Throws if it is not installed. */
async function findProgram(name: string): Promise<string> {
  for (const path of folders.map((folder) => join(folder, name))) if (await isAccessible(path, constants.X_OK)) return path
  const debianPackage = name === 'clamscan' ? 'clamav' : name
  throw new Error(
    `SCANNER_URL requires ${name}, which is not installed in ${folders.join(', ')}. On Debian, install the ${debianPackage} package.`,
  )
}

const isAccessible = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )
