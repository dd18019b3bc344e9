import { scannerUnavailable } from '../../platform/errors/errors.js'
import type { EngineIdentity, VirusScanner } from './virus-scanner.js'

const createNotConfiguredError = () =>
  scannerUnavailable(
    'No scanner is configured (SCANNER_URL=none:), but this context requires virus scans. Set SCANNER_URL, or disable scan_for_viruses in the context.',
  )

/** Scanner for `none:`. Uploads to contexts that scan files get 503, because unscanned files must not be reported as clean. */
export class NoScanner implements VirusScanner {
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
