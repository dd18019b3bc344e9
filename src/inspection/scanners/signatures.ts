import type { EngineIdentity } from './virus-scanner.js'

/** Name and version of a scanner's signatures. The engine's own version does not count. */
export const signaturesOf = ({ name, signaturesVersion }: Pick<EngineIdentity, 'name' | 'signaturesVersion'>): string =>
  `${name} ${signaturesVersion}`

/** The current signatures of a scanner. */
export interface Signatures {
  signatures: string
  /** Null if the scanner does not report it. */
  madeAt: Date | null
}

/** The signatures of a report, in SQL. */
export const signaturesIn = (report: string): string =>
  `(${report}->'engine'->>'name') || ' ' || (${report}->'engine'->>'signaturesVersion')`

/** True if the version shows every change. ClamAV's version is that of its daily database: other databases may change without it. */
export const isExact = (signatures: string): boolean => !signatures.includes('ClamAV')

/** True if there is a version. ClamAV reports none if all databases are the operator's own. */
export const isVersioned = (signatures: string): boolean => !signatures.includes('unversioned')
