import type { UploadLinkRules } from '../../platform/actor.js'
import { badUserInput } from '../../platform/errors/errors.js'
import type { FileContext } from '../contexts/context.types.js'

const maxMetadataBytes = 16 * 1024

/**
 * Applies the restrictions of an upload link to the rules of its context. The context's rules may have changed after the link
 * was created.
 */
export const narrowRules = (context: FileContext, { allowedExtensions, maxSizeMb, sha256 }: UploadLinkRules): FileContext => ({
  ...context,
  allowedExtensions: context.allowedExtensions.filter((extension) => allowedExtensions?.includes(extension) ?? true),
  maxFileSizeMb: Math.min(context.maxFileSizeMb, maxSizeMb ?? Number.POSITIVE_INFINITY),
  requiredSha256: sha256,
})

/** Merges the uploader's metadata with the upload link's metadata, which takes precedence. */
export function addLinkMetadata(uploadLink: UploadLinkRules, metadata: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...metadata, ...uploadLink.metadata }
  if (Buffer.byteLength(JSON.stringify(merged)) > maxMetadataBytes)
    throw badUserInput([
      { field: 'metadata', message: 'must be at most 16 KiB when combined with the metadata of the upload link' },
    ])
  return merged
}
