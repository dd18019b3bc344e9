import type { Check, CheckVerdict, FileUnderTest, Scan } from './check.js'

export const virus: Check = async (file) => {
  const { rules } = file.submission
  if (!rules.scanForViruses)
    return { outcome: 'skipped', message: `Context '${rules.contextKey}' does not have its files scanned.` }
  const scan = await file.scan()
  const unseen = await unseenPart(file, scan)
  return { ...(unseen ? incomplete(scan, unseen) : verdictOf(scan)), durationMs: scan.durationMs }
}

/** What its reader could not open without a password no scanner has seen either, whatever it says; nor what it passes over. */
async function unseenPart(file: FileUnderTest, { verdict, engine, passesOver }: Scan): Promise<string | undefined> {
  if (verdict.verdict !== 'clean') return undefined
  const findings = await file.findings()
  const evidence = 'soundness' in findings ? findings.soundness?.verdict.evidence : undefined
  if (evidence?.encrypted === true) return 'a part of it is encrypted, which no scanner could look at'
  const passedOver = await passesOver((evidence?.holds as string[] | undefined) ?? [])
  return passedOver.length > 0 ? `it holds ${passedOver.join(', ')}, which ${engine.name} does not unpack` : undefined
}

function incomplete(scan: Scan, cause: string): CheckVerdict {
  const message = `${cause[0]!.toUpperCase()}${cause.slice(1)}.`
  return { outcome: 'incomplete', message, evidence: { cause, engine: engineOf(scan), ...proofOf(scan) } }
}

function verdictOf(scan: Scan): CheckVerdict {
  const { verdict } = scan
  const [engine, proof] = [engineOf(scan), proofOf(scan)]
  if (verdict.verdict === 'infected') {
    const { signature } = verdict
    return { outcome: 'failed', message: `Virus found by ${engine}: ${signature}.`, evidence: { signature, engine, ...proof } }
  }
  if (verdict.verdict === 'incomplete') {
    const cause = verdict.reason
    const message = `${engine} could not look at all of it: ${cause.replace(/\.$/, '')}.`
    return { outcome: 'incomplete', message, evidence: { cause, engine, ...proof } }
  }
  const notes = verdict.note ? [verdict.note] : []
  const message = [`Nothing found by ${engine}`, ...notes].join('; ').replace(/\.$/, '')
  return { outcome: 'passed', message: `${message}.`, evidence: { engines: [engine], ...proof, ...(verdict.note && { notes }) } }
}

const engineOf = ({ engine: { name, version } }: Scan): string => `${name} ${version}`.trim()

const proofOf = ({ verdict }: Scan): { scanner_proved_at?: string } =>
  verdict.provedAt ? { scanner_proved_at: verdict.provedAt.toISOString() } : {}
