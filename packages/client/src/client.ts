import { type Body, Caller, type CallOptions, type Data } from './call.js'
import { createFileMethods } from './files.js'
import { type EventsOptions, followEvents } from './follow-events.js'
import {
  createApiKeyMethods,
  createContextMethods,
  createHoldMethods,
  createLogMethods,
  createQuarantineMethods,
  createStatisticsMethods,
  createTenantMethods,
  createTransparencyLogMethods,
  createTrashMethods,
  createUploadLinkMethods,
  createWebhookMethods,
} from './resources.js'
import { type ClientOptions, Transport } from './transport.js'

/** API client for one service and one credential. Every method throws an `AssayError` if its call fails. */
export class AssayClient {
  readonly #caller: Caller
  readonly files
  readonly contexts
  readonly apiKeys
  readonly uploadLinks
  readonly trash
  readonly quarantine
  readonly holds
  readonly stats
  readonly logs
  readonly webhooks
  readonly transparencyLog
  readonly tenant

  constructor(options: ClientOptions) {
    const caller = new Caller(new Transport(options))
    this.#caller = caller
    this.files = createFileMethods(caller)
    this.contexts = createContextMethods(caller)
    this.apiKeys = createApiKeyMethods(caller)
    this.uploadLinks = createUploadLinkMethods(caller)
    this.trash = createTrashMethods(caller)
    this.quarantine = createQuarantineMethods(caller)
    this.holds = createHoldMethods(caller)
    this.stats = createStatisticsMethods(caller)
    this.logs = createLogMethods(caller)
    this.webhooks = createWebhookMethods(caller)
    this.transparencyLog = createTransparencyLogMethods(caller)
    this.tenant = createTenantMethods(caller)
  }

  /** Creates an upload link. The URL is returned only once. Pass it to `uploadTo` to upload files without an API key. */
  createUploadLink(body: Body<'createUploadLink'>, options?: CallOptions): Promise<Data<'createUploadLink'>> {
    return this.#caller.request('createUploadLink', { body, ...options })
  }

  /** Iterates over the tenant's events in order, without duplicates. Waits for new events, and reconnects if necessary. */
  events(options: EventsOptions = {}): AsyncGenerator<Data<'listEvents'>['data'][number]> {
    return followEvents(this.#caller.transport, options)
  }

  /** Returns the sequence number of the latest event. */
  async getLastSequence(options?: CallOptions): Promise<number> {
    return (await this.#caller.request('listEvents', { query: { limit: 1 }, ...options })).last_sequence
  }
}

/** Creates a client for the service at `baseUrl`. */
export const createClient = (options: ClientOptions): AssayClient => new AssayClient(options)
