import { type AssayError, rateLimited } from '../../platform/errors/errors.js'

/**
 * Maximum number of unfinished uploads per tenant, and their maximum total size as a multiple of the largest allowed file. Each
 * credential can use up to half of these limits.
 */
export const maxUnfinished = { uploads: 1_000, largestFiles: 64 }

/** Number and total size of unfinished uploads, for a tenant and for one credential (`own`). */
export interface UnfinishedUsage {
  uploads: number
  bytes: number
  own: number
  ownBytes: number
}

/** Returns the error for an upload of `requestedBytes` bytes that exceeds a limit. */
export function createUnfinishedUploadsLimitError(
  { uploads, bytes, own, ownBytes }: UnfinishedUsage,
  requestedBytes: number,
  maxBytes: number,
): AssayError {
  const max = maxUnfinished.uploads
  const why =
    own >= max / 2
      ? `this credential has ${own} unfinished uploads, which is the maximum`
      : uploads >= max
        ? `this tenant has ${uploads} unfinished uploads, which is the maximum`
        : ownBytes + requestedBytes > maxBytes / 2
          ? `this credential has ${ownBytes} bytes of unfinished uploads, the new upload has ${requestedBytes}, and the maximum is ${maxBytes / 2}`
          : `this tenant has ${bytes} bytes of unfinished uploads, the new upload has ${requestedBytes}, and the maximum is ${maxBytes}`
  return rateLimited(`Too many unfinished uploads: ${why}. Finish or delete unfinished uploads.`, 60)
}
