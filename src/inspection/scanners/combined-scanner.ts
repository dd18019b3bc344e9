import type { Content } from '../../platform/spool/content.js'
import type { ScanVerdict } from './verdict.js'
import type { EngineIdentity, ScanOptions, VirusScanner } from './virus-scanner.js'

/** Scans every file with two scanners: ClamAV, and the operator's own rules. A file is clean only if both report it clean. */
export class CombinedScanner implements VirusScanner {
  readonly #first: VirusScanner
  readonly #second: VirusScanner

  constructor(first: VirusScanner, second: VirusScanner) {
    this.#first = first
    this.#second = second
  }

  /**
   * Priority of the results: first a virus, then a failed scan (the file may be infected, and the client can retry), then an incomplete
   * scan.
   */
  async scan(content: Content, options: ScanOptions): Promise<ScanVerdict> {
    const settled = await Promise.allSettled([this.#first.scan(content, options), this.#second.scan(content, options)])
    const verdicts = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const infected = verdicts.find(({ verdict }) => verdict === 'infected')
    if (infected) return infected
    const failed = settled.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
    return verdicts.find(({ verdict }) => verdict === 'incomplete') ?? bothClean(verdicts as Clean[])
  }

  async identity(): Promise<EngineIdentity> {
    const [first, second] = await Promise.all([this.#first.identity(), this.#second.identity()])
    return {
      name: `${first.name} + ${second.name}`,
      version: `${first.version} + ${second.version}`,
      signaturesVersion: `${first.signaturesVersion} + ${second.signaturesVersion}`,
      // Identity of the engine, because its signatures expire and an operator's rules need not.
      signaturesDate: first.signaturesDate ?? second.signaturesDate,
    }
  }

  async prove(): Promise<void> {
    await Promise.all([this.#first.prove(), this.#second.prove()])
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#second.close()])
  }
}

type Clean = Extract<ScanVerdict, { verdict: 'clean' }>

/** Combines two clean verdicts: the first scanner's, with the older of both proofs. */
function bothClean([first, second]: Clean[]): ScanVerdict {
  return { ...first!, provedAt: new Date(Math.min(first!.provedAt.getTime(), second!.provedAt.getTime())) }
}
