import { megabyte } from '../../platform/units.js'
import type { Check } from './check.js'

/** No more bytes than the context allows; exactly as many pass (contract §4). */
export const size: Check = ({ submission, tooLarge }) => {
  const { sizeBytes, rules } = submission
  const limit = rules.maxFileSizeMb * megabyte
  const evidence = { size_bytes: sizeBytes, limit_bytes: limit }
  if (!tooLarge) return { outcome: 'passed', message: `${sizeBytes} bytes, of at most ${limit}.`, evidence }
  const seen =
    submission.content || submission.announced
      ? `The file has ${sizeBytes} bytes`
      : `The upload was cut off after ${Math.max(sizeBytes, limit)} bytes`
  return {
    outcome: 'failed',
    message: `${seen}; context '${rules.contextKey}' allows ${rules.maxFileSizeMb} MB (${limit} bytes).`,
    evidence,
  }
}
