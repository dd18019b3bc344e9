import type { Content } from '../body/content.js'

/** The three honest verdicts (contract §6). Whoever could not look at all throws `scannerUnavailable` instead. */
export type ScanVerdict =
  /** Looked at completely. `note` says what was scanned as it is, because the engine does not unpack it. */
  | { verdict: 'clean'; note?: string }
  | { verdict: 'infected'; signature: string }
  /** Encryption or a limit stopped the unpacking: neither clean nor a virus. */
  | { verdict: 'incomplete'; reason: string }

/** Which engine judged, with which signatures: part of every validation report. */
export interface EngineIdentity {
  name: string
  version: string
  signaturesVersion: string
  /** When the signatures were made; null where the engine does not tell. */
  signaturesDate: Date | null
}

/** A virus scanner. What a scanner is, `virusScannerContract` in test/contract says. */
export interface VirusScanner {
  /** Judges the content. Throws `scannerUnavailable` for any doubt about whether it was looked at. */
  scan(content: Content, options: { signal: AbortSignal }): Promise<ScanVerdict>
  /** Who would scan now. Throws `scannerUnavailable`. Cached for at most a minute. */
  identity(): Promise<EngineIdentity>
  /** Proves detection on the EICAR test string; throws `scannerUnavailable` where it is not found. */
  prove(): Promise<void>
  close(): Promise<void>
}
