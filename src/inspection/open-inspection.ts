import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { AppDependencies } from '../platform/processes/application.js'
import { getProcessShare, singleProcess } from '../platform/processes/process-number.js'
import { megabyte } from '../platform/units.js'
import { findLocalClamd, openScanner } from './scanners/index.js'
import type { VirusScanner } from './scanners/virus-scanner.js'
import { openSandbox, type Sandbox } from './workers/sandbox.js'
import { getMemoryLimit, WorkerPool } from './workers/worker-pool.js'

type Dependencies = Pick<AppDependencies, 'config' | 'logger' | 'siblings'>

/** Creates the spool folder and returns its real path. */
export async function createSpoolFolder(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'spool')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Return the real path, because sandboxed workers can open the folder only under this path.
  return realpath(folder)
}

// Memory limit of the preview worker. Previews have a separate worker, so that they do not delay uploads.
const maxPreviewMemoryMb = 512
const previewIdleMs = 15_000

export interface Workers {
  /** Workers that check uploaded files in `contentFolder`. */
  uploads: WorkerPool
  previews: WorkerPool
  close(): Promise<void>
}

/** Opens the worker pools. Both pools share one sandbox, which can read `contentFolder`. */
export function openWorkers({ config, logger, siblings }: Dependencies, contentFolder: string): Workers {
  const { self: processNumber = singleProcess } = siblings ?? {}
  const sandbox = tryOpenSandbox(contentFolder, logger)
  const uploads = new WorkerPool({
    workers: getProcessShare(config.validationWorkers, processNumber),
    processMemoryMb: Math.floor(getMemoryLimit() / 2 / megabyte / processNumber.count),
    sandbox,
  })
  const previewMemoryMb = Math.min(maxPreviewMemoryMb, Math.floor(getMemoryLimit() / 8 / megabyte / processNumber.count))
  const previews = new WorkerPool({ workers: 1, processMemoryMb: previewMemoryMb, idleMs: previewIdleMs, sandbox })
  return { uploads, previews, close: async () => void (await Promise.all([uploads.close(), previews.close()])) }
}

async function tryOpenSandbox(contentFolder: string, logger: Logger): Promise<Sandbox | undefined> {
  try {
    return await openSandbox(contentFolder)
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n').at(-1) : String(error)
    logger.warn({ reason }, 'No sandbox is available. Image decoders run with the same permissions as the service.')
    return undefined
  }
}

// Maximum number of connections per daemon, shared by all processes. Lower than clamd's default MaxThreads of 10.
const clamdConnections = 8

/** Opens the scanner that SCANNER_URL selects. By default, uses a local clamd or the built-in rules. */
export async function openConfiguredScanner(
  { config, logger, siblings }: Dependencies,
  options: { pool: WorkerPool; directory: string },
): Promise<{ url: string; scanner: VirusScanner }> {
  const url = config.scannerUrl ?? (await findLocalClamd()) ?? 'yara:'
  const clamd = { connections: getProcessShare(clamdConnections, siblings?.self ?? singleProcess) }
  return { url, scanner: await openScanner(url, { ...options, logger, clamd, rulesDir: config.rulesDir }) }
}
