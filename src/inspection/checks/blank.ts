import type { Check } from './check.js'

/** Not empty, and not only whitespace, NUL and byte-order marks. */
export const blank: Check = async (file) => {
  const { sizeBytes, rules } = file.submission
  if (!rules.rejectBlankFiles) return { outcome: 'skipped', message: `Context '${rules.contextKey}' accepts blank files.` }
  if (sizeBytes === 0) return { outcome: 'failed', message: 'The file is empty: it has no bytes.', evidence: { size_bytes: 0 } }
  const findings = await file.findings()
  if ('failure' in findings || !findings.blankness) return { outcome: 'skipped', message: 'The content could not be looked at.' }
  const { blank, durationMs } = findings.blankness
  if (!blank) return { outcome: 'passed', message: 'The file has content.', durationMs }
  return {
    outcome: 'failed',
    message: `The file is blank: nothing but whitespace, NUL bytes and byte-order marks in ${sizeBytes} bytes.`,
    evidence: { size_bytes: sizeBytes },
    durationMs,
  }
}
