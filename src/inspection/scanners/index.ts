import { access } from 'node:fs/promises'
import type { WorkerPool } from '../workers/worker-pool.js'
import { type ClamdAddress, parseClamdUrl } from './clamd/address.js'
import { type ClamdOptions, ClamdScanner } from './clamd/clamd.js'
import { queryClamd } from './clamd/commands.js'
import { openClamscan } from './clamscan/clamscan.js'
import { CombinedScanner } from './combined-scanner.js'
import { NoScanner } from './none.js'
import type { ScannerLogger, VirusScanner } from './virus-scanner.js'
import { readRulesDir } from './yara/rules-dir.js'
import { YaraScanner } from './yara/yara.js'

export interface ScannerOptions {
  rulesDir?: string
  pool?: WorkerPool
  workers?: number
  clamd?: Omit<ClamdOptions, 'logger'>
  /** Folder for the temporary files of scans. */
  directory?: string
  logger?: ScannerLogger
}

/**
 * Opens the scanner that `SCANNER_URL` selects: `clamd://host:3310` or `clamd:///path/to.sock` (comma-separated if several),
 * `clamscan:`, `yara:`, or `none:`. An unavailable clamd does not prevent startup, but fails the readiness check. Throws if the
 * URL or the rules are invalid.
 */
export async function openScanner(url: string, options: ScannerOptions = {}): Promise<VirusScanner> {
  const { pool, directory } = options
  const shared = { pool, ...(directory && { directory }), ...(options.logger && { logger: options.logger }) }
  const openYara = async () =>
    YaraScanner.open({
      pool,
      ...(options.workers !== undefined && { workers: options.workers }),
      ...(options.rulesDir && { operators: await readRulesDir(options.rulesDir) }),
    })
  if (url === 'none:') return new NoScanner()
  if (url === 'yara:') return openYara()
  const clamav = url.startsWith('clamscan:')
    ? await openClamscan(url, shared)
    : new ClamdScanner(parseScannerUrl(url), { ...shared, ...options.clamd })
  return options.rulesDir ? new CombinedScanner(clamav, await openYara()) : clamav
}

function parseScannerUrl(url: string): ClamdAddress[] {
  const urls = url.split(',').map((each) => each.trim())
  if (urls.every((each) => each.startsWith('clamd:'))) return urls.map(parseClamdUrl)
  throw new Error(
    `SCANNER_URL is '${url}'. It must be clamd://host:3310, clamd:///path/to.sock (several, comma-separated), clamscan:, yara: or none:.`,
  )
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
