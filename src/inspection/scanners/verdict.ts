/** The three honest verdicts. A scanner that could not look at all throws `scannerUnavailable` instead. */
export type ScanVerdict =
  /** Looked at completely. `note` says what the report should tell beside. `provedAt`: when the engine last found the EICAR test string. */
  | { verdict: 'clean'; note?: string; provedAt: Date }
  | { verdict: 'infected'; signature: string; provedAt?: Date }
  /** Encryption or a limit stopped the unpacking: neither clean nor a virus. */
  | { verdict: 'incomplete'; reason: string; provedAt?: Date }
