import { BucketError } from '../bucket/retry.js'

/** Metadata of an object: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectMetadata {
  size: number
  crc32c: string
  generation: string
  /** Id that `put` assigned to the upload. */
  upload?: unknown
}

/** Parses the metadata of an object. Throws a `BucketError`, which causes a retry, if the response describes no object. */
export function parseObject(resource: unknown): ObjectMetadata {
  // Emulators that are written in Go omit a size of 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketError(502, 'a response that does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}
