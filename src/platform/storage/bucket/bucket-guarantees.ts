import { randomUUID } from 'node:crypto'
import { AssayError } from '../../errors/errors.js'
import { reservedPrefix } from '../blob-path.js'
import type { BucketApi, TestWrite } from './bucket-api.js'
import { getCauseHttpStatus } from './retry.js'

/** Guarantees that only a bucket's server can provide. */
export interface BucketGuarantees {
  /** `kept`: the bucket rejects a conditional write if the object already exists. */
  conditionalWrites: 'kept' | 'ignored' | 'unsupported'
  /** `kept`: the bucket rejects content that does not match its checksum. */
  checksums: 'kept' | 'ignored'
}

/** Thrown if the bucket could lose or damage files. In this case, the service does not start. */
export class UnsafeBucketError extends AssayError {
  constructor(message: string) {
    super('storage_unavailable', message, { retryAfter: 60, cause: new Error(message) })
  }
}

/** Tests the guarantees with temporary objects, and deletes them afterwards. */
export async function testBucketGuarantees(api: BucketApi, prefix: string): Promise<BucketGuarantees> {
  const names = ['condition', 'checksum'].map((what) => `${prefix}${reservedPrefix}proof-${what}-${randomUUID()}`)
  const [conditional, damaged] = names as [string, string]
  const [first, second] = [Buffer.from('first'), Buffer.from('other')]
  try {
    await findStatus(api, { name: conditional, bytes: first, ifAbsent: true }, [412, 501])
    const overwritten = await findStatus(api, { name: conditional, bytes: second, ifAbsent: true }, [412, 501])
    const written = await findStatus(api, { name: damaged, bytes: first, declared: second }, [400])
    return {
      conditionalWrites: overwritten === 501 ? 'unsupported' : overwritten === 412 ? 'kept' : 'ignored',
      checksums: written === 400 ? 'kept' : 'ignored',
    }
  } finally {
    for (const name of names) await api.remove({ name, path: 'a test object' }).catch(() => {})
  }
}

/** Returns the status with which the bucket rejects the write, or undefined if it stores the object. Throws any other error. */
async function findStatus(api: BucketApi, write: TestWrite, expected: number[]): Promise<number | undefined> {
  try {
    await api.write(write)
    return undefined
  } catch (error) {
    const status = getCauseHttpStatus(error)
    if (status === undefined || !expected.includes(status)) throw error
    return status
  }
}

/** Throws an `UnsafeBucketError` if a required guarantee is missing. */
export function assertSafeBucket({ conditionalWrites, checksums }: BucketGuarantees, api: BucketApi): void {
  if (checksums === 'ignored')
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' stores content that does not match its checksum. Use a store that verifies checksums.`,
    )
  if (conditionalWrites === 'ignored')
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' ignores write conditions and overwrites objects. Use a store that supports conditional writes.`,
    )
  if (conditionalWrites === 'unsupported' && api.requiresConditions)
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' does not support conditional writes (If-None-Match: *). Set S3_UNCONDITIONAL_WRITES=true to accept this, or use another store.`,
    )
}
