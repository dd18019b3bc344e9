import { type AssayError, rateLimited } from '../../platform/errors/errors.js'

/** Limits of a tenant's unfinished uploads: their number, and their bytes as a multiple of the largest file. A credential may have half. */
export const maxUnfinished = { uploads: 1_000, largestFiles: 64 }

/** Unfinished uploads of a tenant, and of the credential (`own`). */
export interface Unfinished {
  uploads: number
  bytes: number
  own: number
  ownBytes: number
}

/** The error if an upload of `wanted` bytes exceeds a limit. */
export function tooMuchUnfinished({ uploads, bytes, own, ownBytes }: Unfinished, wanted: number, maxBytes: number): AssayError {
  const max = maxUnfinished.uploads
  const why =
    own >= max / 2
      ? `this credential has ${own}, the most there may be`
      : uploads >= max
        ? `this tenant has ${uploads}, the most there may be`
        : ownBytes + wanted > maxBytes / 2
          ? `those of this credential may have ${ownBytes} bytes, this one ${wanted}, all of them ${maxBytes / 2}`
          : `those of this tenant may have ${bytes} bytes, this one ${wanted}, all of them ${maxBytes}`
  return rateLimited(`Too much is unfinished: ${why}. Finish uploads, or end them by DELETE.`, 60)
}
