import type { Content } from '../../platform/spool/content.js'
import type { ScanVerdict } from './verdict.js'
import type { EngineIdentity, ScanOptions, VirusScanner } from './virus-scanner.js'

/** Scans every file with ClamAV and with the operator's rules. A file is clean only if both report it as clean. */
export class CombinedScanner implements VirusScanner {
  constructor(
    private readonly first: VirusScanner,
    private readonly second: VirusScanner,
  ) {}

  /**
   * Scans with both scanners. If one fails and the other scan is incomplete, throws the error, because the client can then retry.
   */
  async scan(content: Content, options: ScanOptions): Promise<ScanVerdict> {
    const settled = await Promise.allSettled([this.first.scan(content, options), this.second.scan(content, options)])
    const verdicts = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const infected = verdicts.find(({ verdict }) => verdict === 'infected')
    if (infected) return infected
    const failed = settled.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
    return verdicts.find(({ verdict }) => verdict === 'incomplete') ?? combineCleanVerdicts(verdicts as CleanVerdict[])
  }

  async getIdentity(): Promise<EngineIdentity> {
    const [first, second] = await Promise.all([this.first.getIdentity(), this.second.getIdentity()])
    return {
      name: `${first.name} + ${second.name}`,
      version: `${first.version} + ${second.version}`,
      signaturesVersion: `${first.signaturesVersion} + ${second.signaturesVersion}`,
      // Use ClamAV's date, because virus signatures become outdated, while operator rules may not.
      signaturesDate: first.signaturesDate ?? second.signaturesDate,
    }
  }

  async verifyDetection(): Promise<void> {
    await Promise.all([this.first.verifyDetection(), this.second.verifyDetection()])
  }

  async close(): Promise<void> {
    await Promise.all([this.first.close(), this.second.close()])
  }
}

type CleanVerdict = Extract<ScanVerdict, { verdict: 'clean' }>

/** Combines two clean verdicts. `provedAt` is the time of the older EICAR test. */
function combineCleanVerdicts([first, second]: CleanVerdict[]): ScanVerdict {
  return { ...first!, provedAt: new Date(Math.min(first!.provedAt.getTime(), second!.provedAt.getTime())) }
}
