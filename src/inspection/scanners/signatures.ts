import type { EngineIdentity } from './virus-scanner.js'

/** Returns the name and version of a scanner's signatures, without the version of the engine. */
export const getSignatures = ({ name, signaturesVersion }: Pick<EngineIdentity, 'name' | 'signaturesVersion'>): string =>
  `${name} ${signaturesVersion}`

/** Current signatures of a scanner. */
export interface Signatures {
  signatures: string
  /** Creation date of the signatures. Null if the scanner does not report it. */
  madeAt: Date | null
}

export const createSignaturesExpression = (report: string): string =>
  `(${report}->'engine'->>'name') || ' ' || (${report}->'engine'->>'signaturesVersion')`

/** Returns true if every signature change changes the version. ClamAV reports only the version of its daily database. */
export const isExact = (signatures: string): boolean => !signatures.includes('ClamAV')

/** Returns true if the signatures have a version. ClamAV reports no version if it uses only custom databases. */
export const isVersioned = (signatures: string): boolean => !signatures.includes('unversioned')
