import { randomUUID } from 'node:crypto'
import type { BucketMetadata } from '../bucket/bucket-api.js'
import { BucketError } from '../bucket/retry.js'
import type { GcsAccess } from './access.js'

interface ObjectUpload {
  /** Object name, including the prefix. */
  name: string
  bytes: Buffer
  /** Object resource: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
  resource: object
  /** Required generation of the existing object. '0' requires that no object exists. */
  ifGenerationMatch?: string
}

/** Uploads an object with one request: https://cloud.google.com/storage/docs/uploading-objects#uploading-an-object */
export async function uploadObject(access: GcsAccess, object: ObjectUpload, signal: AbortSignal): Promise<ObjectMetadata> {
  const query = new URLSearchParams({
    uploadType: 'multipart',
    name: object.name,
    ...(object.ifGenerationMatch !== undefined && { ifGenerationMatch: object.ifGenerationMatch }),
  })
  const path = `/upload/storage/v1/b/${access.bucketName}/o?${query}`
  const boundary = randomUUID()
  const { contentType = 'application/octet-stream' } = object.resource as { contentType?: string }
  const head = [
    `--${boundary}`,
    'Content-Type: application/json; charset=UTF-8',
    '',
    JSON.stringify(object.resource),
    `--${boundary}`,
    `Content-Type: ${contentType}`,
    '',
    '',
  ]
  const body = Buffer.concat([Buffer.from(head.join('\r\n')), object.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  const headers = { 'Content-Type': `multipart/related; boundary=${boundary}` }
  return parseObject(await access.requestJson(path, { method: 'POST', headers, body, signal, idleMs: access.limits.callMs }))
}

/** Metadata of an object: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectMetadata extends BucketMetadata {
  crc32c: string
  generation: string
}

/** Parses the metadata of an object. Throws a `BucketError`, which causes a retry, if the response describes no object. */
export function parseObject(resource: unknown): ObjectMetadata {
  // Emulators that are written in Go omit a size of 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketError(502, 'the response does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}
