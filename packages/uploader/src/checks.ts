import { formatBytes } from './format.js'
import { getExtension, getMaxBytes, type LinkRules, type UploadError } from './link-rules.js'
import { fill, isRejection, type Texts, toErrorText } from './texts.js'

export interface CheckResult {
  state: 'passed' | 'failed' | 'pending'
  text: string
}

interface CheckedFile {
  name: string
  size: number
}

/** Checks the type, size and number of files before an upload starts. `accepts` is the number of files that the link accepts. */
export function checkFile(
  file: CheckedFile,
  rules: LinkRules,
  options: { accepts: number; texts: Texts; language?: string },
): CheckResult[] {
  const { accepts, texts, language } = options
  const size = formatBytes(file.size, language)
  const max = formatBytes(getMaxBytes(rules), language)
  const results = [checkType(file.name, rules, texts)]
  if (file.size === 0) results.push({ state: 'failed', text: texts.sizeEmpty })
  else if (file.size > getMaxBytes(rules)) results.push({ state: 'failed', text: fill(texts.sizeRejected, { size, max }) })
  else results.push({ state: 'passed', text: fill(texts.sizeAllowed, { size, max }) })
  if (accepts < 1) results.push({ state: 'failed', text: fill(texts.countRejected, { count: 0 }) })
  return results
}

function checkType(name: string, { allowed_extensions: allowed }: LinkRules, texts: Texts): CheckResult {
  const extension = getExtension(name)
  const extensions = allowed.join(', ')
  if (!extension) return { state: 'failed', text: fill(texts.typeMissing, { extensions }) }
  if (allowed.includes(extension)) return { state: 'passed', text: fill(texts.typeAllowed, { extension }) }
  return { state: 'failed', text: fill(texts.typeRejected, { extension, extensions }) }
}

/** Converts the outcome of an upload to the result of the content check. */
export function toContentCheck(texts: Texts, outcome: { fileId?: string; error?: UploadError }): CheckResult {
  if (outcome.fileId) return { state: 'passed', text: texts.contentAccepted }
  if (outcome.error && isRejection(outcome.error.code)) return { state: 'failed', text: toErrorText(texts, outcome.error) }
  return { state: 'pending', text: texts.contentPending }
}
