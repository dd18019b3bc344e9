import { Storage } from '@google-cloud/storage'
import { type BucketLimits, defaultLimits } from '../bucket/retry.js'
import type { HmacKey } from './hmac-url.js'

export interface GcsOptions {
  bucket: string
  prefix?: string
  /** True if the guarantees of the bucket must be proved before the first write. */
  requireProof?: boolean
  /** Address of an emulator, as in STORAGE_EMULATOR_HOST. An emulator receives no credentials. */
  emulatorHost?: string
  /** Alternative address of the Google API, for example for Private Service Connect. It receives credentials. */
  endpoint?: string
  /** Key file of a service account. If undefined, the client uses application default credentials. */
  keyFile?: string
  /** Alternative address of the IAM endpoint `…/serviceAccounts/`, which signs URLs if no key is available. */
  signingEndpoint?: string
  /** HMAC key that signs URLs without a key file and without IAM. */
  hmac?: HmacKey
  limits?: Partial<BucketLimits>
}

/** Creates the Google client, which provides credentials and signs URLs but sends no request to the bucket. */
export function createClient({ emulatorHost, endpoint, keyFile, limits }: GcsOptions): Storage {
  return new Storage({
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(emulatorHost === undefined ? {} : { apiEndpoint: emulatorHost }),
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: true }),
    // Prevents the SDK from searching for a project id (gcloud, metadata server, resource manager), which no call needs.
    projectId: 'none',
    clientOptions: { transporterOptions: { timeout: limits?.requestMs ?? defaultLimits.requestMs } },
  })
}

/** Sets a timeout for the token exchange, which would otherwise wait forever. The SDK has no option for it. */
export async function setTokenTimeout(client: Storage, { requestMs }: BucketLimits): Promise<void> {
  const { stsCredential } = (await client.authClient.getClient()) as unknown as StsClient
  if (stsCredential && stsCredential.transporter.defaults.timeout === undefined)
    stsCredential.transporter.defaults = { timeout: requestMs }
}

interface StsClient {
  stsCredential?: { transporter: { defaults: { timeout?: number } } }
}
