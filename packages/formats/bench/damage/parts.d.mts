export interface FileParts {
  bytes: Buffer
  parts: { start: number; end: number }[]
  /** Offsets of the length fields. */
  lengths: number[]
  /** Offsets of the checksum fields. */
  sums: number[]
}

export declare function findParts(bytes: Buffer, extension: string): FileParts
