import { scannerUnavailable } from '../../platform/errors/errors.js'
import type { EngineIdentity, VirusScanner } from './virus-scanner.js'

const refuse = () =>
  scannerUnavailable(
    'No scanner is configured (SCANNER_URL=none:), and this context wants its files scanned; set SCANNER_URL, or switch scan_for_viruses off.',
  )

/**
 * `none:` looks at nothing, and so has no verdict to give: contexts that have files scanned answer 503, contexts that do not work.
 * A "clean" from here would be about what was not looked at.
 */
export class NoScanner implements VirusScanner {
  async scan(): Promise<never> {
    throw refuse()
  }

  async identity(): Promise<EngineIdentity> {
    return { name: 'none', version: '', signaturesVersion: '', signaturesDate: null }
  }

  async unsupportedContainers(kinds: readonly string[]): Promise<string[]> {
    return [...kinds]
  }

  async prove(): Promise<void> {
    throw refuse()
  }

  async close(): Promise<void> {}
}
