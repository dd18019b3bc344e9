import type { PolicyRefusal } from '../../platform/errors/block-reasons.js'
import type { FailedLook, SoundnessFinding } from '../findings.js'
import type { WorkerFailure } from '../workers/work.js'
import type { Check, CheckVerdict, ValidationRules } from './check.js'

/** A usual program for the type can open it, it is no bomb and no trick, and holds nothing that the context's policy refuses. */
export const corrupt: Check = async (file) => {
  const { rules } = file.submission
  const findings = await file.findings()
  // Whatever the context says about damage: a file that kills its reader is not kept, nor is a trap.
  if ('failure' in findings) return afterWorkerFailure(findings)
  const { soundness } = findings
  if (!soundness) return { outcome: 'skipped', message: 'The content was not looked at.' }
  const trap = !soundness.verdict.sound && soundness.verdict.maliciousConstruction
  const verdict = afterReading(soundness, file.extension)
  if (verdict.outcome === 'failed' && (rules.rejectCorruptFiles || trap)) return verdict
  const refusal = refusalOf(soundness, rules)
  if (refusal) return refusal
  if (rules.rejectCorruptFiles) return verdict
  return {
    outcome: 'skipped',
    message: `Context '${rules.contextKey}' accepts damaged files; it is no trap.`,
    evidence: ofPolicy(soundness),
  }
}

function refusalOf(soundness: SoundnessFinding, rules: ValidationRules): CheckVerdict | undefined {
  const evidence = ofPolicy(soundness)
  const { durationMs } = soundness
  const refuse = (refusal: PolicyRefusal, message: string): CheckVerdict => ({
    outcome: 'failed',
    refusal,
    message,
    evidence,
    durationMs,
  })
  if (rules.rejectEncryptedFiles && evidence.encrypted)
    return refuse(
      'encrypted_file',
      `It cannot be opened, or not all of it, without a password; context '${rules.contextKey}' refuses such files.`,
    )
  if (rules.rejectActiveContent && evidence.active_content)
    return refuse(
      'active_content',
      `It holds active content (${evidence.active_content.join(', ')}); context '${rules.contextKey}' refuses such files.`,
    )
  return undefined
}

function ofPolicy({ verdict }: SoundnessFinding): { encrypted?: true; active_content?: string[] } {
  const { encrypted, active_content } = verdict.evidence ?? {}
  return {
    ...(encrypted === true && { encrypted }),
    ...(Array.isArray(active_content) && { active_content }),
  }
}

function afterReading({ verdict, reader, durationMs }: SoundnessFinding, extension: string): CheckVerdict {
  const evidence = { reader, ...verdict.evidence }
  if (!verdict.sound) {
    const named = verdict.maliciousConstruction
      ? `The file is a trap (${verdict.maliciousConstruction})`
      : `Not a sound ${extension ? `.${extension}` : ''} file`.replace('  ', ' ')
    return {
      outcome: 'failed',
      message: `${named}: ${verdict.problem.replace(/\.$/, '')}.`,
      evidence: verdict.maliciousConstruction ? { ...evidence, trap: verdict.maliciousConstruction } : evidence,
      durationMs,
    }
  }
  const notes = verdict.notes ?? []
  const message = reader ? `The ${reader} reader opens it` : 'No reader knows this type, so it was not opened'
  return {
    outcome: 'passed',
    message: `${[message, ...notes].join('; ')}.`,
    evidence: notes.length > 0 ? { ...evidence, notes } : evidence,
    durationMs,
  }
}

const explanations: Record<WorkerFailure, string> = {
  died: 'the worker that read it died, and so did a fresh worker',
  hung: 'it was not read within the deadline, nor by a fresh worker',
  out_of_memory: "reading it took more than a worker's memory, in a fresh worker too",
}

const afterWorkerFailure = ({ failure, durationMs }: FailedLook): CheckVerdict => ({
  outcome: 'failed',
  message: `The file cannot be read safely: ${explanations[failure]}.`,
  evidence: { worker: failure, attempts: 2 },
  durationMs,
})
