/** The three verdicts. A scanner that cannot scan a file throws `scannerUnavailable` instead. */
export type ScanVerdict =
  /** Scanned completely. `note` is added to the report. `provedAt`: when the engine last found the EICAR test string. */
  | { verdict: 'clean'; note?: string; provedAt: Date }
  | { verdict: 'infected'; signature: string; provedAt?: Date }
  /** Encryption or a limit stopped the unpacking: neither clean nor a virus. */
  | { verdict: 'incomplete'; reason: string; provedAt?: Date }
