import type { EngineIdentity } from '../../scanner/virus-scanner.js'
import type { Check, CheckVerdict, Scan } from './check.js'

/** Every scanner has looked at all of it, and none found anything. */
export const virus: Check = async (file) => {
  const { rules } = file.submission
  if (!rules.scanForViruses)
    return { outcome: 'skipped', message: `Context '${rules.contextKey}' does not have its files scanned.` }
  const scans = await file.scans()
  // A virus outweighs what another scanner could not look at.
  return verdictOf(scans, scans.find(infected) ?? scans.find(incomplete))
}

const infected = ({ verdict }: Scan): boolean => verdict.verdict === 'infected'
const incomplete = ({ verdict }: Scan): boolean => verdict.verdict === 'incomplete'
const called = ({ name, version }: EngineIdentity): string => `${name} ${version}`.trim()

function verdictOf(scans: Scan[], decisive: Scan | undefined): CheckVerdict {
  const durationMs = scans.reduce((sum, scan) => sum + scan.durationMs, 0)
  const engines = scans.map(({ engine }) => called(engine))
  if (decisive?.verdict.verdict === 'infected') {
    const { signature } = decisive.verdict
    const evidence = { signature, engine: called(decisive.engine) }
    return { outcome: 'failed', message: `Virus found by ${called(decisive.engine)}: ${signature}.`, evidence, durationMs }
  }
  if (decisive?.verdict.verdict === 'incomplete') {
    const { reason } = decisive.verdict
    const evidence = { cause: reason, engine: called(decisive.engine) }
    return {
      outcome: 'incomplete',
      message: `${called(decisive.engine)} could not look at all of it: ${reason.replace(/\.$/, '')}.`,
      evidence,
      durationMs,
    }
  }
  const notes = scans.flatMap(({ verdict }) => (verdict.verdict === 'clean' && verdict.note ? [verdict.note] : []))
  const message = [`Nothing found by ${engines.join(' and ')}`, ...notes].join('; ').replace(/\.$/, '')
  return { outcome: 'passed', message: `${message}.`, evidence: notes.length > 0 ? { engines, notes } : { engines }, durationMs }
}
