export interface FileParts {
  bytes: Buffer
  parts: { start: number; end: number }[]
  /** Offsets of lengths. */
  lengths: number[]
  /** Offsets of checksums. */
  sums: number[]
}

export declare function findParts(bytes: Buffer, extension: string): FileParts
