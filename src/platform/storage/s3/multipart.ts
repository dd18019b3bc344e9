import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { reachFaultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import type { BucketObject, BucketUpload } from '../bucket/bucket-api.js'
import { encodePath } from '../bucket/connection.js'
import { getPart, updateChecksum } from '../bucket/content.js'
import { BucketError } from '../bucket/retry.js'
import type { S3Access } from './access.js'

export const maxSingleRequestBytes = 16 * megabyte
const maxParts = 10_000

/** Returns the size of each part except the last one, which may be smaller. */
export const getPartSize = (size: number, minSize = maxSingleRequestBytes): number =>
  Math.max(minSize, Math.ceil(size / maxParts / megabyte) * megabyte)

export interface MultipartUpload {
  access: S3Access
  name: string
  action: string
  signal?: AbortSignal | undefined
  /** Sends one part and returns its ETag. */
  sendPart(part: { uploadId: string; number: number; start: number; end: number }): Promise<string | undefined>
  size: number
  partSize: number
  create: { ContentType?: string; Metadata?: Record<string, string> }
  ifAbsent: boolean
}

/** Sends an object in parts, one after another. A failed or aborted upload leaves no parts behind. */
export async function uploadParts(upload: MultipartUpload): Promise<void> {
  const { access, name, action, size, partSize, signal } = upload
  const target = { Bucket: access.bucket, Key: name }
  // Ignore the caller's signal, because an upload can be aborted only after its id is known.
  const { UploadId: uploadId } = await access.withRetries({ action }, (attempt) =>
    access.send(new CreateMultipartUploadCommand({ ...target, ...upload.create }), attempt),
  )
  reachFaultPoint('bucket.session')
  try {
    const parts: CompletedPart[] = []
    for (let start = 0, number = 1; start < size; start += partSize, number++) {
      const part = { uploadId: uploadId!, number, start, end: Math.min(start + partSize, size) }
      parts.push({ PartNumber: number, ETag: await upload.sendPart(part) })
      reachFaultPoint('bucket.chunk')
    }
    signal?.throwIfAborted()
    const complete = {
      ...target,
      UploadId: uploadId,
      MultipartUpload: { Parts: parts },
      ...(upload.ifAbsent && { IfNoneMatch: '*' }),
    }
    await access.withRetries({ action, attemptMs: access.limits.callMs }, (attempt) =>
      access.send(new CompleteMultipartUploadCommand(complete), attempt),
    )
  } catch (error) {
    const abort = new AbortMultipartUploadCommand({ ...target, UploadId: uploadId })
    await access.send(abort, AbortSignal.timeout(2000)).catch(() => {})
    throw error
  }
}

/** Sends one part of the content. Reads it twice, because the request contains its SHA-256, which the store verifies. */
export async function sendContentPart(
  { access, upload, action }: { access: S3Access; upload: BucketUpload; action: string },
  { uploadId, number, start, end }: { uploadId: string; number: number; start: number; end: number },
): Promise<string> {
  const { name, content, signal } = upload
  const hash = createHash('sha256')
  await updateChecksum(content, { start, end }, hash)
  const sha256 = hash.digest('hex')
  const part = { Bucket: access.bucket, Key: name, UploadId: uploadId, PartNumber: number, ContentLength: end - start }
  return access.withRetries({ action, signal, attemptMs: access.limits.callMs }, async (attempt) => {
    const body = toBody(content, { start, end })
    try {
      const { ETag } = await access.send(withPayloadHash(new UploadPartCommand({ ...part, Body: body.value }), sha256), attempt)
      if (!ETag) throw new BucketError(502, 'the response contains no ETag')
      return ETag
    } finally {
      body.close()
    }
  })
}

// S3 can copy up to 5 GiB per request. This limit is lower, so that each request finishes within a call's timeout.
const maxSingleCopyBytes = 512 * megabyte

/** Copies an object within the bucket, without downloading its content. */
export async function copyObject(copy: { access: S3Access; from: BucketObject; to: BucketObject; size: number }): Promise<void> {
  const { access, from, to, size } = copy
  const action = `copy '${from.path}'`
  const attemptMs = access.limits.callMs
  const source = { CopySource: `${access.bucket}/${encodePath(from.name)}`, Bucket: access.bucket, Key: to.name }
  if (size <= maxSingleCopyBytes) {
    await access.withRetries({ action, attemptMs }, (signal) => access.send(new CopyObjectCommand(source), signal))
    return
  }
  await uploadParts({
    access,
    name: to.name,
    action,
    size,
    partSize: getPartSize(size, maxSingleCopyBytes),
    create: {},
    ifAbsent: false,
    sendPart: ({ uploadId, number, start, end }) =>
      access.withRetries({ action, attemptMs }, async (signal) => {
        const part = { ...source, UploadId: uploadId, PartNumber: number, CopySourceRange: `bytes=${start}-${end - 1}` }
        const { CopyPartResult } = await access.send(new UploadPartCopyCommand(part), signal)
        if (!CopyPartResult?.ETag) throw new BucketError(502, 'the response contains no ETag')
        return CopyPartResult.ETag
      }),
  })
}

interface Command {
  middlewareStack: { add(middleware: never, options: { step: 'build'; name: string }): void }
}

/** Signs the SHA-256 of the body, which the store verifies. The SDK itself would read the body twice or use aws-chunked. */
export function withPayloadHash<T>(command: T & Command, sha256: string): T {
  const middleware = (next: (args: unknown) => unknown) => (args: { request: { headers: Record<string, string> } }) => {
    args.request.headers['x-amz-content-sha256'] = sha256
    return next(args)
  }
  command.middlewareStack.add(middleware as never, { step: 'build', name: 'payloadHash' })
  return command
}

/** Returns the body for one attempt. `close` closes the file if the attempt ends early. */
export function toBody(content: Content, part: { start: number; end: number }): { value: Buffer | Readable; close(): void } {
  const body = getPart(content, part)
  if (!('read' in body)) return { value: body, close: () => {} }
  const stream = body.read()
  return { value: stream, close: () => void stream.on('error', () => {}).destroy() }
}
