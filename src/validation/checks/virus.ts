import type { EngineIdentity } from '../../scanner/virus-scanner.js'
import type { Check, CheckVerdict, FileUnderTest, Scan } from './check.js'

/** Every scanner has looked at all of it, and none found anything. */
export const virus: Check = async (file) => {
  const { rules } = file.submission
  if (!rules.scanForViruses)
    return { outcome: 'skipped', message: `Context '${rules.contextKey}' does not have its files scanned.` }
  const scans = await file.scans()
  // A virus outweighs what another scanner could not look at.
  const decisive = scans.find(infected) ?? scans.find(incomplete)
  return decisive || !(await isEncrypted(file)) ? verdictOf(scans, decisive) : encrypted(scans)
}

const infected = ({ verdict }: Scan): boolean => verdict.verdict === 'infected'
const incomplete = ({ verdict }: Scan): boolean => verdict.verdict === 'incomplete'
const called = ({ name, version }: EngineIdentity): string => `${name} ${version}`.trim()

/** What its reader could not open without a password no scanner has seen either, whatever it says. */
async function isEncrypted(file: FileUnderTest): Promise<boolean> {
  const findings = await file.findings()
  return 'soundness' in findings && findings.soundness?.verdict.evidence?.encrypted === true
}

function encrypted(scans: Scan[]): CheckVerdict {
  return {
    outcome: 'incomplete',
    message: 'A part of it is encrypted: no scanner could look at that.',
    evidence: {
      cause: 'a part of it is encrypted',
      engine: scans.map(({ engine }) => called(engine)).join(' and '),
      ...provedAt(scans),
    },
    durationMs: scans.reduce((sum, scan) => sum + scan.durationMs, 0),
  }
}

function verdictOf(scans: Scan[], decisive: Scan | undefined): CheckVerdict {
  const durationMs = scans.reduce((sum, scan) => sum + scan.durationMs, 0)
  const engines = scans.map(({ engine }) => called(engine))
  const proved = provedAt(decisive ? [decisive] : scans)
  if (decisive?.verdict.verdict === 'infected') {
    const { signature } = decisive.verdict
    const evidence = { signature, engine: called(decisive.engine), ...proved }
    return { outcome: 'failed', message: `Virus found by ${called(decisive.engine)}: ${signature}.`, evidence, durationMs }
  }
  if (decisive?.verdict.verdict === 'incomplete') {
    const { reason } = decisive.verdict
    const evidence = { cause: reason, engine: called(decisive.engine), ...proved }
    return {
      outcome: 'incomplete',
      message: `${called(decisive.engine)} could not look at all of it: ${reason.replace(/\.$/, '')}.`,
      evidence,
      durationMs,
    }
  }
  const notes = scans.flatMap(({ verdict }) => (verdict.verdict === 'clean' && verdict.note ? [verdict.note] : []))
  const message = [`Nothing found by ${engines.join(' and ')}`, ...notes].join('; ').replace(/\.$/, '')
  const evidence = { engines, ...proved, ...(notes.length > 0 && { notes }) }
  return { outcome: 'passed', message: `${message}.`, evidence, durationMs }
}

/** When those who judged were last seen to find the EICAR test string: the oldest of their proofs. */
function provedAt(scans: Scan[]): { scanner_proved_at?: string } {
  const times = scans.flatMap(({ verdict }) => verdict.provedAt?.getTime() ?? [])
  return times.length > 0 ? { scanner_proved_at: new Date(Math.min(...times)).toISOString() } : {}
}
