import { CopyObjectCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3'
import { megabyte } from '../../units.js'
import type { BucketObject } from '../bucket/bucket-api.js'
import { encodePath } from '../bucket/connection.js'
import { BucketError } from '../bucket/retry.js'
import type { S3Access } from './access.js'
import { getPartSize, uploadParts } from './multipart.js'

// One request can copy up to 5 GiB. Smaller requests finish within a call's timeout.
const maxSingleCopyBytes = 512 * megabyte

/** Copies an object within the bucket, so that the service transfers no content. */
export async function copyObject(copy: { access: S3Access; from: BucketObject; to: BucketObject; size: number }): Promise<void> {
  const { access, from, to, size } = copy
  const action = `copy '${from.path}'`
  const attemptMs = access.limits.callMs
  const source = { CopySource: `${access.bucket}/${encodePath(from.name)}`, Bucket: access.bucket, Key: to.name }
  if (size <= maxSingleCopyBytes) {
    await access.call({ action, attemptMs }, (signal) => access.send(new CopyObjectCommand(source), signal))
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
      access.call({ action, attemptMs }, async (signal) => {
        const part = { ...source, UploadId: uploadId, PartNumber: number, CopySourceRange: `bytes=${start}-${end - 1}` }
        const { CopyPartResult } = await access.send(new UploadPartCopyCommand(part), signal)
        if (!CopyPartResult?.ETag) throw new BucketError(502, 'the response contains no ETag')
        return CopyPartResult.ETag
      }),
  })
}
