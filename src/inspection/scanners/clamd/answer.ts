import { printable } from '../../../platform/errors/errors.js'
import type { EngineIdentity } from '../virus-scanner.js'

/** Meaning of one line of a clamd response. `error` is never a virus, and never clean. */
export type ClamdAnswer =
  | { kind: 'clean' }
  | { kind: 'infected'; signature: string }
  | { kind: 'incomplete'; reason: string }
  | { kind: 'error'; message: string }

/** clamd(8): `stream: OK`, `stream: NAME FOUND`, to the letter; anything else is a fault of the daemon or of the line to it. */
export function readAnswer(line: string): ClamdAnswer {
  if (line === 'stream: OK') return { kind: 'clean' }
  const found = /^stream: (\S+) FOUND$/.exec(line)?.[1]
  if (found !== undefined) return judgeSignature(found)
  if (saysTooLong(line)) return { kind: 'incomplete', reason: 'it is larger than the StreamMaxLength of clamd' }
  return { kind: 'error', message: line === '' ? 'an empty response' : `the response '${printable(line)}'` }
}

export const saysTooLong = (line: string): boolean => line === 'INSTREAM size limit exceeded. ERROR'

// With AlertEncrypted and AlertExceedsMax, clamd reports content that it could not scan as a finding. Such a finding is not a virus.
function judgeSignature(signature: string): ClamdAnswer {
  // clamd reports no name if it stops the scan of a file.
  if (signature.startsWith('(null)'))
    return { kind: 'incomplete', reason: 'clamd stopped the scan without a reason ((null) FOUND)' }
  if (signature.startsWith('Heuristics.Encrypted.'))
    return { kind: 'incomplete', reason: `it is encrypted (${printable(signature)})` }
  if (signature.startsWith('Heuristics.Limits.'))
    return { kind: 'incomplete', reason: `it is beyond the limits of clamd (${printable(signature)})` }
  return { kind: 'infected', signature: printable(signature) }
}

/**
 * `ClamAV 1.4.6/27900/Thu Nov 20 09:12:13 2026`, or only `ClamAV 1.4.6` where the databases are the operator's own.
 * Undefined for anything else. The date is the database's, in the daemon's local time, read as UTC: it is a day that matters.
 */
export function readVersion(line: string): EngineIdentity | undefined {
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
