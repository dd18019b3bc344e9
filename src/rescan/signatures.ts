import type { EngineIdentity } from '../scanner/virus-scanner.js'

/** By which signatures a scanner judges: what changes when they do. The engine's own version does not count. */
export const signaturesOf = ({ name, signaturesVersion }: Pick<EngineIdentity, 'name' | 'signaturesVersion'>): string =>
  `${name} ${signaturesVersion}`

/** Those that a scanner has now. */
export interface Signatures {
  signatures: string
  /** Null where it does not tell. */
  madeAt: Date | null
}

/** The same in SQL, of a report. */
export const signaturesIn = (report: string): string =>
  `(${report}->'engine'->>'name') || ' ' || (${report}->'engine'->>'signaturesVersion')`

/** Whether the version tells every change. ClamAV's is that of its daily database: what lies beside it may change without a word. */
export const isExact = (signatures: string): boolean => !signatures.includes('ClamAV')

/** Whether there is a version at all: ClamAV with databases of the operator's own alone tells none. */
export const isVersioned = (signatures: string): boolean => !signatures.includes('unversioned')
