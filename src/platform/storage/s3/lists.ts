import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import type { BucketApi, BucketPage } from '../bucket/bucket-api.js'
import { BucketError, ignoreHttpStatus } from '../bucket/retry.js'
import type { S3Access } from './access.js'

/** Returns one page of objects, ordered by the UTF-8 bytes of their names. */
export function listObjects(
  access: S3Access,
  { prefix, after, pageToken }: Parameters<BucketApi['listPage']>[0],
): Promise<BucketPage> {
  const input = {
    Bucket: access.bucket,
    Prefix: prefix,
    EncodingType: 'url' as const,
    ...(after !== undefined && { StartAfter: after }),
    ...(pageToken !== undefined && { ContinuationToken: pageToken }),
  }
  return access.withRetries({ action: 'list its blobs' }, async (signal) => {
    const page = await access.send(new ListObjectsV2Command(input), signal)
    if (page.IsTruncated && !page.NextContinuationToken)
      throw new BucketError(502, 'the response is a truncated list without a token for the next page')
    const objects = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
      path: decodeKey(Key),
      size: Size,
      storedAt: LastModified ?? new Date(0),
    }))
    return { objects, nextPageToken: page.IsTruncated ? page.NextContinuationToken : undefined }
  })
}

/** Aborts multipart uploads that started before this time, because the store charges for their parts. */
export async function abortUploads(access: S3Access, prefix: string, before: Date): Promise<number> {
  let aborted = 0
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
  while (marker) {
    const input: ListMultipartUploadsCommandInput = { Bucket: access.bucket, Prefix: prefix, EncodingType: 'url', ...marker }
    const page = await access.withRetries({ action: 'list unfinished uploads' }, (signal) =>
      access.send(new ListMultipartUploadsCommand(input), signal),
    )
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (!Key || !UploadId || !Initiated || Initiated > before) continue
      const abort = new AbortMultipartUploadCommand({ Bucket: access.bucket, Key: decodeKey(Key), UploadId })
      // Ignore status 404, because it means that another replica has already aborted the upload.
      await access.withRetries({ action: 'abort an unfinished upload' }, (signal) =>
        access.send(abort, signal).catch(ignoreHttpStatus(404)),
      )
      aborted++
    }
    const { NextKeyMarker, NextUploadIdMarker } = page
    marker =
      page.IsTruncated && NextKeyMarker
        ? { KeyMarker: decodeKey(NextKeyMarker), ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }) }
        : undefined
  }
  return aborted
}

// With `encoding-type=url`, '+' represents a space.
const decodeKey = (key: string) => decodeURIComponent(key.replaceAll('+', ' '))
