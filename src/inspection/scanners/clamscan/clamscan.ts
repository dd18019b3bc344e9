import NodeClam from 'clamscan'
import { type ClamdOptions, ClamdScanner } from '../clamd/clamd.js'
import { findProgram } from './find-program.js'
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
/** Limits for `clamscan`, as high as possible. ClamAV scans no file above 2 GB. */
const limits = { largest: 2000 * mebibyte, total: 4000 * mebibyte }
const limitFlags = [
  '--alert-encrypted=yes',
  '--alert-exceeds-max=yes',
  `--max-filesize=${limits.largest / mebibyte}M`,
  `--max-scansize=${limits.total / mebibyte}M`,
]
// Concurrent processes. Each `clamscan` process loads the database (1 GB), while `clamdscan` uses the daemon's.
const maxConcurrent = { clamscan: 2, clamdscan: 8 }

/**
 * Opens ClamAV's command line (`clamscan` or `clamdscan --fdpass`), for machines without a reachable daemon. The same rules as
 * for clamd apply: a valid proof, a scan of unpacked parts, and size limits.
 */
export async function openClamscan(
  url: string,
  options: Pick<ClamdOptions, 'logger' | 'pool' | 'directory'> = {},
): Promise<ClamdScanner> {
  const { program, database, config } = parseClamscanUrl(url)
  const path = await findProgram(program)
  // Pass new objects, because the package modifies them. Activate only one program, because the package falls back to the other.
  const clam = await new NodeClam().init({
    preference: program,
    removeInfected: false,
    clamscan: { path, active: program === 'clamscan', db: database ?? null, scanArchives: true },
    clamdscan: {
      path,
      active: program === 'clamdscan',
      configFile: config ?? null,
      multiscan: false,
      socket: false,
      host: false,
      port: false,
      localFallback: true,
    },
  } as never)
  const own = program === 'clamscan' ? limitFlags : []
  const { clamFlags } = clam as unknown as { clamFlags: string[] }
  // The package silently omits a flag whose file does not exist, and ClamAV would then use its default database or configuration.
  for (const [flag, value] of [
    ['--database', database],
    ['--config-file', config],
  ])
    if (value && !clamFlags.includes(`${flag}=${value}`))
      throw new Error(`SCANNER_URL contains the path '${value}', which cannot be read.`)
  return new ClamdScanner([{ label: program, connect: { path } }], {
    connector: createClamscanConnector({ path, flags: [...clamFlags, ...own] }),
    connections: maxConcurrent[program],
    ...options,
    ...(program === 'clamscan' && { declared: limits }),
  })
}
