import type { Content } from '../../platform/spool/content.js'
import type { ScanVerdict } from './verdict.js'
import type { EngineIdentity, ScanOptions, VirusScanner } from './virus-scanner.js'

/** Two scanners on every file: clamd, and the operator's own rules beside it. Clean is what both call clean. */
export class CombinedScanner implements VirusScanner {
  readonly #first: VirusScanner
  readonly #second: VirusScanner

  constructor(first: VirusScanner, second: VirusScanner) {
    this.#first = first
    this.#second = second
  }

  /** A finding of either wins, then a failure (the file may yet be infected, and can be sent again), then incomplete. */
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
      // The engine's own signatures are what grows old; an operator's rules need not.
      signaturesDate: first.signaturesDate ?? second.signaturesDate,
    }
  }

  /** What either does not look into: clean is what both have seen. */
  async unsupportedContainers(kinds: readonly string[], options: ScanOptions): Promise<string[]> {
    const passed = await Promise.all([
      this.#first.unsupportedContainers(kinds, options),
      this.#second.unsupportedContainers(kinds, options),
    ])
    return [...new Set(passed.flat())]
  }

  async prove(): Promise<void> {
    await Promise.all([this.#first.prove(), this.#second.prove()])
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#second.close()])
  }
}

type Clean = Extract<ScanVerdict, { verdict: 'clean' }>

/** What the first one tells, as of the older of their proofs. What the second does not unpack, the first does. */
function bothClean([first, second]: Clean[]): ScanVerdict {
  return { ...first!, provedAt: new Date(Math.min(first!.provedAt.getTime(), second!.provedAt.getTime())) }
}
