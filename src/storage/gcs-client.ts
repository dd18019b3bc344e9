import { Storage } from '@google-cloud/storage'
import type { BucketConnection } from './gcs-connection.js'
import type { GcsLimits } from './gcs-deadline.js'

export interface GcsOptions {
  bucket: string
  prefix?: string
  /** The address of a stand-in for Google's, as in STORAGE_EMULATOR_HOST. */
  emulatorHost?: string
  /** A service account's key; without one, application default credentials (GOOGLE_APPLICATION_CREDENTIALS, workload identity, …). */
  keyFile?: string
  limits?: Partial<GcsLimits>
}

/** Google's client, with its own repetition switched off (why: gcs-deadline.ts). */
export function clientFor(
  { emulatorHost, keyFile }: GcsOptions,
  own: { limits: GcsLimits; connection: BucketConnection },
): Storage {
  const client = new Storage({
    ...(keyFile === undefined ? {} : { keyFilename: keyFile }),
    ...(emulatorHost === undefined ? {} : { apiEndpoint: emulatorHost }),
    retryOptions: { autoRetry: false },
  })
  // Told by STORAGE_EMULATOR_HOST, the library leaves its own API's path out of the address.
  client.baseUrl = `${client.apiEndpoint}/storage/v1`
  // Here and not among the options: the client's own timeout overrides every call's, uploads' too. Upload sessions are begun
  // through gaxios, which would have none, and use the process's own agent.
  const agent = own.connection.agentFor(client.apiEndpoint)
  const { requestMs, callMs } = own.limits
  const timeoutOf = (address: unknown) => (String(address).includes('/upload/storage/') ? callMs : requestMs)
  // The library's type asks for a whole request, and passes an empty one for sessions.
  client.interceptors.push({
    request: (request) => ({ ...request, agent, timeout: timeoutOf((request as { uri?: unknown }).uri) }) as never,
  })
  return client
}
