import { toPrintableText } from '../../../platform/errors/errors.js'
import type { UnverifiedVerdict } from '../verdict.js'
import type { EngineIdentity } from '../virus-scanner.js'

/** Parsed line of a clamd response. `error` means neither a virus nor a clean file. */
export type ClamdResponse = UnverifiedVerdict | { verdict: 'error'; message: string }

/**
 * Parses a scan response (clamd(8)). Only `stream: OK` and `stream: NAME FOUND` are results. Any other line indicates an error of
 * the daemon or the connection.
 */
export function parseScanResponse(line: string): ClamdResponse {
  if (line === 'stream: OK') return { verdict: 'clean' }
  const found = /^stream: (\S+) FOUND$/.exec(line)?.[1]
  if (found !== undefined) return parseSignature(found)
  if (isSizeLimitError(line)) return { verdict: 'incomplete', reason: "the file exceeds clamd's StreamMaxLength" }
  return { verdict: 'error', message: line === '' ? 'an empty response' : `the response '${toPrintableText(line)}'` }
}

export const isSizeLimitError = (line: string): boolean => line === 'INSTREAM size limit exceeded. ERROR'

// Parses a signature name. With AlertEncrypted and AlertExceedsMax, clamd reports content that it could not scan as a finding,
// although it is not a virus.
function parseSignature(signature: string): ClamdResponse {
  // clamd omits the name if it aborts a scan.
  if (signature.startsWith('(null)'))
    return { verdict: 'incomplete', reason: 'clamd stopped the scan without giving a reason (it replied "(null) FOUND")' }
  if (signature.startsWith('Heuristics.Encrypted.'))
    return { verdict: 'incomplete', reason: `a part of the file is encrypted (${toPrintableText(signature)})` }
  if (signature.startsWith('Heuristics.Limits.'))
    return { verdict: 'incomplete', reason: `the file exceeds clamd's limits (${toPrintableText(signature)})` }
  return { verdict: 'infected', signature: toPrintableText(signature) }
}

/**
 * Parses a version such as `ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026`. With custom databases only, the line is `ClamAV 1.4.6`.
 * The database's date is in the daemon's local time but parsed as UTC, because only the day matters. Returns undefined for other
 * lines.
 */
export function parseVersion(line: string): EngineIdentity | undefined {
  const [engine = '', signatures, date] = line.split('/')
  const version = /^ClamAV (\S+)/.exec(engine)?.[1]
  if (!version) return undefined
  const time = date ? Date.parse(`${date.trim()} UTC`) : Number.NaN
  return {
    name: 'ClamAV',
    version,
    signaturesVersion: signatures?.trim() || 'unversioned',
    signaturesDate: Number.isNaN(time) ? null : new Date(time),
  }
}
