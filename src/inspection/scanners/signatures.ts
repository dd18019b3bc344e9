import type { EngineIdentity } from './virus-scanner.js'

/** Name and version of a scanner's signatures. The version of the engine is not part of them. */
export const getSignatures = ({ name, signaturesVersion }: Pick<EngineIdentity, 'name' | 'signaturesVersion'>): string =>
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

/**
 * True if the version changes with every change of the signatures. ClamAV reports only the version of its daily database. Other databases
 * may change without it.
 */
export const isExact = (signatures: string): boolean => !signatures.includes('ClamAV')

/** True if there is a version. ClamAV reports none if all databases are the operator's own. */
export const isVersioned = (signatures: string): boolean => !signatures.includes('unversioned')
