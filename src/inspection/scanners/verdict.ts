type NotClean =
  | { verdict: 'infected'; signature: string; provedAt?: Date }
  /** Encryption or a limit prevented a complete scan, so the file is neither clean nor infected. */
  | { verdict: 'incomplete'; reason: string; provedAt?: Date }

/** Verdict of a scan. A clean verdict covers the whole file. `provedAt` is the time of the last successful EICAR test. */
export type ScanVerdict = { verdict: 'clean'; provedAt: Date } | NotClean

/** A verdict without the engine's EICAR proof, which the caller adds. */
export type UnverifiedVerdict = { verdict: 'clean' } | NotClean
