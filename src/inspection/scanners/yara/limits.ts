/** How far archives are looked into. Beyond any of it a scan is incomplete. */
export interface UnpackLimits {
  maxUnpackedBytes: number
  /** Unpacked to packed bytes, looked at beyond the first 64 MiB. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// A docx in a zip in a tar.gz is four. Deflate's own limit is 1032 to 1; honest logs and sheets stay below 200.
export const unpackLimits: UnpackLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 4 }

/** A scan's window, and how much of it the next one sees again: no pattern of ours is longer. */
export const windowBytes = 4 * 1024 * 1024
export const overlapBytes = 64 * 1024
