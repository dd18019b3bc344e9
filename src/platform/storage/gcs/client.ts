import { Storage } from '@google-cloud/storage'
import { type BucketConnection, idleConnections } from './connection.js'
import type { GcsLimits } from './deadline.js'
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

interface Own {
  limits: GcsLimits
  connection: BucketConnection
}

/** Google's client, with its own repetition switched off (why: gcs-deadline.ts). */
export function clientFor({ emulatorHost, endpoint, keyFile }: GcsOptions, own: Own): Storage {
  const { requestMs, callMs } = own.limits
  const client = new Storage({
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(emulatorHost === undefined ? {} : { apiEndpoint: emulatorHost }),
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint, useAuthWithCustomEndpoint: true }),
    // No call of ours names a project. Left to find one, the library runs gcloud, asks the metadata server and then the resource
    // manager, and takes a refusal there for one of the credentials.
    projectId: 'none',
    clientOptions: { transporterOptions: { timeout: requestMs } },
    retryOptions: { autoRetry: false },
  })
  // With STORAGE_EMULATOR_HOST the library leaves its own API's path out of the address.
  client.baseUrl = `${client.apiEndpoint}/storage/v1`
  // Here and not among the options: the client's own timeout overrides every call's, uploads' too. Upload sessions are begun
  // through gaxios, which would have none, and use the process's own agent.
  const agent = own.connection.agentFor(client.apiEndpoint)
  const timeoutOf = (address: unknown) => (String(address).includes('/upload/storage/') ? callMs : requestMs)
  const pool = { maxFreeSockets: idleConnections }
  // The library's type asks for a whole request, and passes an empty one for sessions.
  client.interceptors.push({
    request: (request) => ({ ...request, agent, pool, timeout: timeoutOf((request as { uri?: unknown }).uri) }) as never,
  })
  return client
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
