import { scannerUnavailable } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { ScanVerdict } from './verdict.js'
import type { EngineSetup, ScanResult } from './yara/scanning.js'

/** Scan engine and signatures, as included in validation reports. */
export interface EngineIdentity {
  name: string
  version: string
  signaturesVersion: string
  signaturesDate: Date | null
}

export interface ScanOptions {
  signal: AbortSignal
  /** Owner of the file. Waiting scans of different owners take turns. */
  owner?: string | undefined
}

/** Parameters for a worker that scans a file while reading it (`openScan`). */
export interface WorkerScan {
  setup: EngineSetup
  deadlineOf(size: number): number
  /** The scanner calls this function with the duration of each scan in milliseconds. */
  took?(ms: number): void
}

/** A virus scanner. `virusScannerContract` in test/contract defines its behavior. */
export interface VirusScanner {
  scan(content: Content, options: ScanOptions): Promise<ScanVerdict>
  getIdentity(): Promise<EngineIdentity>
  verifyDetection(): Promise<void>
  close(): Promise<void>
  /** Set if the worker that reads a file can also scan it. */
  readonly scanInWorker?: WorkerScan | undefined
  /** True if scans run in a sandbox that can read only spool files. */
  readonly isSandboxed?: boolean
}

/** Returns the verdict of a worker's scan. Throws `scannerUnavailable` if the scan failed. */
export function getVerdictOrThrow(scanned: ScanResult): ScanVerdict {
  if ('fault' in scanned) throw scannerUnavailable(`The file could not be scanned: ${scanned.fault}.`)
  return scanned
}

export interface ScannerLogger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

/** Returns the name and version of a scanner's signatures, without the version of the engine. */
export const getSignatures = ({ name, signaturesVersion }: Pick<EngineIdentity, 'name' | 'signaturesVersion'>): string =>
  `${name} ${signaturesVersion}`

export interface Signatures {
  signatures: string
  /** Creation date of the signatures. Null if the scanner does not report it. */
  madeAt: Date | null
}

export const createSignaturesExpression = (report: string): string =>
  `(${report}->'engine'->>'name') || ' ' || (${report}->'engine'->>'signaturesVersion')`

/**
 * Returns true if the version changes with every change to the signatures. This is not the case for ClamAV, which reports only
 * the version of its daily database.
 */
export const hasExactVersion = (signatures: string): boolean => !signatures.includes('ClamAV')

/** Returns true if the signatures have a version. ClamAV reports no version if it uses only custom databases. */
export const hasVersion = (signatures: string): boolean => !signatures.includes('unversioned')
