import { type Body, Caller, type CallOptions, type Data } from './call.js'
import { createFiles } from './files.js'
import { type EventsOptions, followEvents } from './follow-events.js'
import {
  createApiKeys,
  createContexts,
  createHolds,
  createLogs,
  createQuarantine,
  createStats,
  createTenant,
  createTransparencyLog,
  createTrash,
  createUploadLinks,
  createWebhooks,
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
    this.files = createFiles(caller)
    this.contexts = createContexts(caller)
    this.apiKeys = createApiKeys(caller)
    this.uploadLinks = createUploadLinks(caller)
    this.trash = createTrash(caller)
    this.quarantine = createQuarantine(caller)
    this.holds = createHolds(caller)
    this.stats = createStats(caller)
    this.logs = createLogs(caller)
    this.webhooks = createWebhooks(caller)
    this.transparencyLog = createTransparencyLog(caller)
    this.tenant = createTenant(caller)
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
