import {
  type $Command,
  S3Client,
  type S3ClientConfig,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3'
import { storageUnavailable } from '../../errors/errors.js'
import type { BucketStorageOptions } from '../bucket/bucket-storage.js'
import { BucketError, type BucketLimits, defaultLimits, type RetryOptions, retry } from '../bucket/retry.js'
import type { S3Location } from '../storage-url.js'
import { SdkConnection } from './sdk-connection.js'

export interface S3Options extends S3Location, BucketStorageOptions {
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined
  unconditionalWrites?: boolean
}

type CallOptions = Omit<RetryOptions, 'limits'> & { limits?: BucketLimits }

// A larger offset is an error, because the store uses its own clock to check the 300 s validity of download URLs.
const maxClockOffsetMs = 60_000

/**
 * Access to one bucket. The SDK signs requests and parses responses. Retries and connections use the same code as for other kinds
 * of buckets.
 */
export class S3Access {
  readonly limits: BucketLimits
  readonly client: S3Client
  readonly bucket: string
  readonly #connection: SdkConnection

  constructor(options: S3Options) {
    this.limits = { ...defaultLimits, ...options.limits }
    this.bucket = options.bucket
    this.#connection = new SdkConnection(this.limits.idleMs)
    this.client = new S3Client({
      region: options.region,
      forcePathStyle: options.pathStyle,
      ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
      // Copy the credentials, because the SDK adds properties to the object.
      ...(options.credentials && { credentials: { ...options.credentials } }),
      requestHandler: this.#connection as unknown as NonNullable<S3ClientConfig['requestHandler']>,
      maxAttempts: 1,
      // The service sends the SHA-256 of each body itself, because many stores reject bodies in aws-chunked encoding.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      expectContinueHeader: false,
    })
  }

  withRetries<T>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return retry({ limits: this.limits, ...options }, attempt)
  }

  /** Sends a request. Throws a `BucketError` if the store rejects it. */
  async send<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: $Command<Input, Output, S3ClientResolvedConfig>,
    signal: AbortSignal,
  ): Promise<Output> {
    try {
      return await this.client.send(command, { abortSignal: signal })
    } catch (error) {
      throw this.#toBucketError(error)
    }
  }

  assertClock(): void {
    if (Math.abs(this.#connection.clockOffsetMs) > maxClockOffsetMs) throw storageUnavailable(this.#describeClockProblem())
  }

  close(): void {
    this.client.destroy()
  }

  #toBucketError(error: unknown): unknown {
    const { name, message, $response, $metadata } = error as SdkError
    if (name === 'CredentialsProviderError' || name === 'TokenProviderError')
      return new BucketError(
        401,
        `No credentials for the bucket were found. Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or assign a role to the machine (${message})`,
      )
    const status = $response?.statusCode ?? $metadata?.httpStatusCode
    if (status === undefined) return error
    if (status < 300) return new BucketError(502, 'an incomplete response')
    if (name === 'RequestTimeTooSkewed') return new BucketError(403, this.#describeClockProblem())
    const isTransient = status === 409 || name === 'RequestTimeout'
    return new BucketError(isTransient ? 503 : status, `${status}: ${name}: ${message}`, $response?.headers?.['retry-after'])
  }

  #describeClockProblem(): string {
    const seconds = Math.round(this.#connection.clockOffsetMs / 1000)
    const difference = `${Math.abs(seconds)} s ${seconds > 0 ? 'behind' : 'ahead of'} the bucket's clock`
    return `This machine's clock is ${difference}. Synchronize the clock with NTP. Otherwise, signatures and download URLs are invalid.`
  }
}

interface SdkError {
  name?: string
  message?: string
  $response?: { statusCode?: number; headers?: Record<string, string> }
  $metadata?: { httpStatusCode?: number }
}
