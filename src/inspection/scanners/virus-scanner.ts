import { scannerUnavailable } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { ScanVerdict } from './verdict.js'
import type { EngineSetup, Scanned } from './yara/scanning.js'

/** Which engine judged, with which signatures: part of every validation report. */
export interface EngineIdentity {
  name: string
  version: string
  signaturesVersion: string
  signaturesDate: Date | null
}

export interface ScanOptions {
  signal: AbortSignal
  /** Whose file it is: where scans wait, owners take turns. */
  owner?: string | undefined
}

/** With what a worker scans a file that it has open, by `scanSource`. */
export interface WorkerScan {
  setup: EngineSetup
  deadlineOf(size: number): number
  /** Is told how long each scan took. */
  took?(ms: number): void
}

/** A virus scanner. What a scanner is, `virusScannerContract` in test/contract says. */
export interface VirusScanner {
  scan(content: Content, options: ScanOptions): Promise<ScanVerdict>
  identity(): Promise<EngineIdentity>
  /** Which of these containers it would not look into where they lie in another one. Throws `scannerUnavailable`. */
  unsupportedContainers(kinds: readonly string[], options: ScanOptions): Promise<string[]>
  prove(): Promise<void>
  close(): Promise<void>
  /** Where the validator's own workers can scan what they read, in one visit. */
  readonly scanInWorker?: WorkerScan | undefined
  /** Whether scans run in a sandbox, which sees files of the spool and no other. */
  readonly isSandboxed?: boolean
}

/** What was not scanned is called neither clean nor infected. */
export function scannedOrThrow(scanned: Scanned): ScanVerdict {
  if ('fault' in scanned) throw scannerUnavailable(`The file could not be scanned: ${scanned.fault}.`)
  return scanned
}

export interface ScannerLogger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}
