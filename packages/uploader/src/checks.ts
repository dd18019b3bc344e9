import { formatBytes } from './format.js'
import { getExtension, getMaxBytes, type LinkRules, type UploadError } from './link-rules.js'
import { fillPlaceholders, isFileRejection, type Texts, toErrorText } from './texts.js'

export interface CheckResult {
  state: 'passed' | 'failed' | 'pending'
  text: string
}

interface CheckedFile {
  name: string
  size: number
}

/**
 * Checks a file before its upload: its type, its size, and whether the link accepts another file. `remainingCount` is the number
 * of files that the link still accepts.
 */
export function checkFile(
  file: CheckedFile,
  rules: LinkRules,
  options: { remainingCount: number; texts: Texts; language?: string },
): CheckResult[] {
  const { remainingCount, texts, language } = options
  const size = formatBytes(file.size, language)
  const max = formatBytes(getMaxBytes(rules), language)
  const results = [checkExtension(file.name, rules, texts)]
  if (file.size === 0) results.push({ state: 'failed', text: texts.sizeEmpty })
  else if (file.size > getMaxBytes(rules))
    results.push({ state: 'failed', text: fillPlaceholders(texts.sizeRejected, { size, max }) })
  else results.push({ state: 'passed', text: fillPlaceholders(texts.sizeAllowed, { size, max }) })
  if (remainingCount < 1) results.push({ state: 'failed', text: fillPlaceholders(texts.countRejected, { count: 0 }) })
  return results
}

function checkExtension(name: string, { allowed_extensions: allowed }: LinkRules, texts: Texts): CheckResult {
  const extension = getExtension(name)
  const extensions = allowed.join(', ')
  if (!extension) return { state: 'failed', text: fillPlaceholders(texts.typeMissing, { extensions }) }
  if (allowed.includes(extension)) return { state: 'passed', text: fillPlaceholders(texts.typeAllowed, { extension }) }
  return { state: 'failed', text: fillPlaceholders(texts.typeRejected, { extension, extensions }) }
}

/** Converts the outcome of an upload to the result of the content check. */
export function toContentCheckResult(texts: Texts, outcome: { fileId?: string; error?: UploadError }): CheckResult {
  if (outcome.fileId) return { state: 'passed', text: texts.contentAccepted }
  if (outcome.error && isFileRejection(outcome.error.code)) return { state: 'failed', text: toErrorText(texts, outcome.error) }
  return { state: 'pending', text: texts.contentPending }
}
