import { Storage } from '@google-cloud/storage'
import { defaultLimits, type GcsLimits } from './deadline.js'
import type { HmacKey } from './hmac-url.js'

export interface GcsOptions {
  bucket: string
  prefix?: string
  /** The address of a stand-in for Google's, as in STORAGE_EMULATOR_HOST: asked without credentials. */
  emulatorHost?: string
  /** Another address of Google's own interface, asked with credentials (Private Service Connect). */
  endpoint?: string
  /** A service account's key; without one, application default credentials (GOOGLE_APPLICATION_CREDENTIALS, workload identity, …). */
  keyFile?: string
  /** Another address of IAM's `…/serviceAccounts/`, which signs URLs where no key is at hand. */
  signingEndpoint?: string
  /** Signs URLs without a key file and without IAM. */
  hmac?: HmacKey
  limits?: Partial<GcsLimits>
}

/** Google's client. It provides credentials and signs URLs, but sends no request to the bucket. */
export function clientFor({ emulatorHost, endpoint, keyFile, limits }: GcsOptions): Storage {
  return new Storage({
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(emulatorHost === undefined ? {} : { apiEndpoint: emulatorHost }),
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: true }),
    // Otherwise the library looks for a project (gcloud, metadata server, resource manager), which no call needs.
    projectId: 'none',
    clientOptions: { transporterOptions: { timeout: limits?.requestMs ?? defaultLimits.requestMs } },
  })
}

/** Gives the exchange of tokens a deadline: it has a transporter of its own, which takes no options and waits for a mute server for ever. */
export async function hasten(client: Storage, { requestMs }: GcsLimits): Promise<void> {
  const { stsCredential } = (await client.authClient.getClient()) as unknown as StsUser
  if (stsCredential && stsCredential.transporter.defaults.timeout === undefined)
    stsCredential.transporter.defaults = { timeout: requestMs }
}

interface StsUser {
  stsCredential?: { transporter: { defaults: { timeout?: number } } }
}
