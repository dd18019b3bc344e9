/** Verdict of a scan. A scanner that cannot scan a file throws `scannerUnavailable` instead. */
export type ScanVerdict =
  /** Scanned completely. `provedAt` is the time at which the engine last detected the EICAR test string. */
  | { verdict: 'clean'; provedAt: Date }
  | { verdict: 'infected'; signature: string; provedAt?: Date }
  /** Encryption or a limit prevented a complete scan, so the file is neither clean nor infected. */
  | { verdict: 'incomplete'; reason: string; provedAt?: Date }
