import { access, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { scannerUnavailable } from '../../platform/errors/errors.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import { type ClamdOptions, ClamdScanner } from './clamd/clamd.js'
import { queryClamd } from './clamd/commands.js'
import { type ClamdAddress, parseClamdUrl } from './clamd/exchange.js'
import { openClamscan } from './clamscan/clamscan.js'
import { CombinedScanner } from './combined-scanner.js'
import type { EngineIdentity, ScannerLogger, VirusScanner } from './virus-scanner.js'
import type { OperatorRules } from './yara/rules.js'
import { YaraScanner } from './yara/yara.js'

export interface ScannerOptions {
  rulesDir?: string | undefined
  pool?: WorkerPool
  workers?: number
  clamd?: Omit<ClamdOptions, 'logger'>
  /** Folder for the temporary files of scans. */
  directory?: string
  logger?: ScannerLogger
}

/** Opens the scanner for a SCANNER_URL. Throws if the URL or the rules are invalid, but not if clamd is unavailable. */
export async function openScanner(url: string, options: ScannerOptions = {}): Promise<VirusScanner> {
  const { pool, workers, rulesDir, directory, logger } = options
  const shared = { pool, directory, logger }
  const openYara = async () => YaraScanner.open({ pool, workers, operators: rulesDir ? await readRulesDir(rulesDir) : undefined })
  if (url === 'none:') return new NoScanner()
  if (url === 'yara:') return openYara()
  const clamav = url.startsWith('clamscan:')
    ? await openClamscan(url, shared)
    : new ClamdScanner(parseScannerUrl(url), { ...shared, ...options.clamd })
  return rulesDir ? new CombinedScanner(clamav, await openYara()) : clamav
}

function parseScannerUrl(url: string): ClamdAddress[] {
  const urls = url.split(',').map((each) => each.trim())
  if (urls.every((each) => each.startsWith('clamd:'))) return urls.map(parseClamdUrl)
  throw new Error(
    `SCANNER_URL is '${url}'. It must be one or more comma-separated clamd URLs (clamd://host:3310 or clamd:///path/to.sock), or clamscan:, yara: or none:.`,
  )
}

/** Reads the operator's rules: all *.yar and *.yara files in the folder and its subfolders, sorted by path. */
async function readRulesDir(dir: string): Promise<OperatorRules> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((error) => {
    throw new Error(
      `RULES_DIR '${dir}' cannot be read (${error.code ?? error.message}). It must be a directory that contains *.yar or *.yara files.`,
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

const defaultSockets = ['/run/clamav/clamd.ctl', '/var/run/clamav/clamd.ctl', '/run/clamd.scan/clamd.sock', '/tmp/clamd.socket']

export async function findLocalClamd(
  urls: string[] = [...defaultSockets.map((path) => `clamd://${path}`), 'clamd://127.0.0.1:3310'],
): Promise<string | undefined> {
  for (const url of urls) if (await isRunning(parseClamdUrl(url))) return url
  return undefined
}

async function isRunning(address: ClamdAddress): Promise<boolean> {
  const ms = 500
  try {
    if ('path' in address.connect) await access(address.connect.path)
    const deadlines = { connectMs: ms, idleMs: ms, answerMs: ms, overallMs: ms }
    return (await queryClamd(address, 'PING', deadlines)) === 'PONG'
  } catch {
    return false
  }
}

const createNotConfiguredError = () =>
  scannerUnavailable(
    'No scanner is configured (SCANNER_URL=none:), but this context requires virus scans. Set SCANNER_URL, or disable scan_for_viruses in the context.',
  )

/** Scanner for `none:`. Every scan fails with 503, because unscanned files must not be reported as clean. */
class NoScanner implements VirusScanner {
  async scan(): Promise<never> {
    throw createNotConfiguredError()
  }

  async getIdentity(): Promise<EngineIdentity> {
    return { name: 'none', version: '', signaturesVersion: '', signaturesDate: null }
  }

  async verifyDetection(): Promise<void> {
    throw createNotConfiguredError()
  }

  async close(): Promise<void> {}
}
