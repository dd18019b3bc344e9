import { type EventsOptions, followEvents } from './follow-events.js'
import type { operations } from './generated/openapi.js'
import { resumableFrom, uploadResumable } from './resumable.js'
import type { Schemas } from './schemas.js'
import { type OpenedSource, openSource, type UploadSource } from './source.js'
import { type ClientOptions, type Request, Transport, withQuery } from './transport.js'
import { formOf, type Progress } from './upload.js'

/** The service's types, by their names in the OpenAPI document. */

type Query<Id extends keyof operations> = NonNullable<operations[Id]['parameters']['query']>
type Page<Item> = { data: Item[]; pagination: Schemas['Pagination'] }

export interface UploadOptions {
  /** The context whose rules the file is tested against. */
  context: string
  /** Needed where the source has no name of its own. */
  filename?: string
  /** Returned by the file's metadata; at most 16 KiB as JSON. */
  metadata?: Record<string, unknown>
  onProgress?: (progress: Progress) => void
  signal?: AbortSignal
  /** Made by the client unless given: a repeated upload is kept once. */
  idempotencyKey?: string
  /** Whether it goes in several requests, so that it can be resumed; unless said otherwise, beyond 16 MB. Not for a stream. */
  resumable?: boolean
}

const api = '/api/v1'
const segment = encodeURIComponent

const fieldsOf = ({ context, metadata }: UploadOptions): Record<string, string> => ({
  context,
  ...(metadata && { metadata: JSON.stringify(metadata) }),
})

/** A client of one service, for one credential. */
export class AssayClient {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  readonly files = {
    /** Uploads a file. Throws AssayError with the check that refused it. A stream is sent once, anything else again after an outage. */
    upload: (source: UploadSource, options: UploadOptions): Promise<Schemas['File']> => this.#upload(source, options),
    /** The report that an upload would get; nothing is kept. */
    validate: async (source: UploadSource, options: UploadOptions): Promise<Schemas['ValidationReport']> =>
      this.#sendFile('/files/validate', await openSource(source, options.filename), options, {}),
    list: (query: Query<'listFiles'> = {}) => this.#get<Page<Schemas['FileItem']>>('/files', query),
    /** Every file that the filters leave, newest first, page by page. */
    each: (query: Query<'listFiles'> = {}) => this.#each<Schemas['FileItem']>('/files', query),
    get: (fileId: string) => this.#get<Schemas['FileMetadata']>(`/files/${segment(fileId)}/metadata`),
    validation: (fileId: string) => this.#get<Schemas['ValidationReport']>(`/files/${segment(fileId)}/validation`),
    downloadUrl: (fileId: string) => this.#get<Schemas['DownloadUrl']>(`/files/${segment(fileId)}`),
    /** The file's bytes: a Response to be read as a stream, Blob or text. */
    download: async (fileId: string, signal?: AbortSignal): Promise<Response> => {
      const { download_url } = await this.files.downloadUrl(fileId)
      return this.#transport.fetchSigned(download_url, signal)
    },
    delete: (fileId: string) => this.#call<{ file_id: string }>('DELETE', `/files/${segment(fileId)}`),
    /** Up to 100 at once, each with its own outcome; nothing is thrown for one that is refused. */
    deleteMany: (fileIds: readonly string[]) =>
      this.#call<Schemas['FileDeletion'][]>('POST', '/files/delete', { file_ids: fileIds }),
  }

  readonly contexts = {
    list: (query: Query<'listContexts'> = {}) => this.#get<Page<Schemas['FileContext']>>('/contexts', query),
    get: (contextKey: string) => this.#get<Schemas['FileContext']>(`/contexts/${segment(contextKey)}`),
    create: (body: Schemas['CreateContextBody']) => this.#create<Schemas['FileContext']>('/contexts', body),
    update: (contextKey: string, body: Schemas['UpdateContextBody']) =>
      this.#call<Schemas['FileContext']>('PATCH', `/contexts/${segment(contextKey)}`, body),
    delete: (contextKey: string) => this.#call<Schemas['DeletedContext']>('DELETE', `/contexts/${segment(contextKey)}`),
  }

  readonly apiKeys = {
    list: (query: Query<'listApiKeys'> = {}) => this.#get<Page<Schemas['ApiKey']>>('/api-keys', query),
    get: (apiKeyId: string) => this.#get<Schemas['ApiKey']>(`/api-keys/${segment(apiKeyId)}`),
    /** The secret is in this answer and in no other. */
    create: (body: Schemas['CreateApiKeyBody']) => this.#create<Schemas['NewApiKey']>('/api-keys', body),
    enable: (apiKeyId: string) => this.#change(apiKeyId, 'enable'),
    disable: (apiKeyId: string) => this.#change(apiKeyId, 'disable'),
    revoke: (apiKeyId: string) => this.#change(apiKeyId, 'revoke'),
    rotate: (apiKeyId: string, body: Schemas['RotateApiKeyBody'] = {}) =>
      this.#call<Schemas['NewApiKey']>('POST', `/api-keys/${segment(apiKeyId)}/rotate`, body),
  }

  readonly stats = {
    overview: () => this.#get<Schemas['Stats']>('/stats'),
    apiCallsChart: (query: Query<'getApiCallsChart'> = {}) =>
      this.#get<Schemas['ApiCallsChart']>('/stats/charts/api-calls', query),
    storageChart: (query: Query<'getStorageChart'> = {}) => this.#get<Schemas['StorageChart']>('/stats/charts/storage', query),
    uploadsChart: (query: Query<'getUploadsChart'> = {}) => this.#get<Schemas['UploadsChart']>('/stats/charts/uploads', query),
  }

  readonly logs = {
    calls: (query: Query<'listCallLogs'> = {}) => this.#get<Page<Schemas['CallLog']>>('/stats/logs', query),
    eachCall: (query: Query<'listCallLogs'> = {}) => this.#each<Schemas['CallLog']>('/stats/logs', query),
    audit: (query: Query<'listAuditLogs'> = {}) => this.#get<Page<Schemas['AuditLog']>>('/audit-logs', query),
    eachAudit: (query: Query<'listAuditLogs'> = {}) => this.#each<Schemas['AuditLog']>('/audit-logs', query),
  }

  /** Every change and every verdict, in order and once each; goes on as they come, and where it was after a connection is lost. */
  events(options: EventsOptions = {}): AsyncGenerator<Schemas['Event']> {
    return followEvents(this.#transport, options)
  }

  /** How many events there are by now. */
  async lastEvent(): Promise<number> {
    return (await this.#get<{ last_sequence: number }>('/events', { limit: 1 })).last_sequence
  }

  readonly tenant = {
    get: () => this.#get<Schemas['Tenant']>('/tenant'),
    update: (body: Schemas['UpdateTenantBody']) => this.#call<Schemas['Tenant']>('PATCH', '/tenant', body),
  }

  async #upload(source: UploadSource, options: UploadOptions): Promise<Schemas['File']> {
    const opened = await openSource(source, options.filename)
    const { content, filename } = opened
    const { idempotencyKey = crypto.randomUUID(), onProgress, signal } = options
    if (content instanceof Blob && (options.resumable ?? content.size > resumableFrom)) {
      const metadata = { filename, ...fieldsOf(options) }
      return uploadResumable(this.#transport, { content, metadata, idempotencyKey, onProgress, signal })
    }
    return this.#sendFile('/files/upload', opened, options, { 'Idempotency-Key': idempotencyKey })
  }

  async #sendFile<T>(path: string, opened: OpenedSource, options: UploadOptions, headers: Record<string, string>): Promise<T> {
    const fields = fieldsOf(options)
    const form = formOf(opened, fields, options.onProgress)
    return this.#transport.data<T>({
      method: 'POST',
      path: api + path,
      body: form.body,
      headers: { ...form.headers, ...headers },
      signal: options.signal,
      repeatable: opened.content instanceof Blob,
    })
  }

  #get<T>(path: string, query: object = {}): Promise<T> {
    return this.#transport.data<T>({ method: 'GET', path: withQuery(api + path, query), repeatable: true })
  }

  /** With a key of the client's own, so that it is done once however often it is sent. */
  #create<T>(path: string, body: object): Promise<T> {
    return this.#json<T>({ method: 'POST', path: api + path, repeatable: true }, body, {
      'Idempotency-Key': crypto.randomUUID(),
    })
  }

  #call<T>(method: string, path: string, body?: object): Promise<T> {
    return this.#json<T>({ method, path: api + path, repeatable: false }, body)
  }

  #change(apiKeyId: string, change: string): Promise<Schemas['ApiKey']> {
    return this.#call('POST', `/api-keys/${segment(apiKeyId)}/${change}`)
  }

  #json<T>(request: Request, body: object | undefined, headers: Record<string, string> = {}): Promise<T> {
    if (body === undefined) return this.#transport.data<T>(request)
    return this.#transport.data<T>({
      ...request,
      body: () => JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...headers },
    })
  }

  /** Follows the links of the pages, which hold their place while others write. */
  async *#each<T>(path: string, query: object): AsyncGenerator<T> {
    let next: string | undefined = withQuery(api + path, { page_size: 100, ...query })
    while (next !== undefined) {
      const response: Response = await this.#transport.send({ method: 'GET', path: next, repeatable: true })
      const { data } = (await response.json()) as { data: Page<T> }
      yield* data.data
      next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    }
  }
}

/** A client: `createClient({ baseUrl, apiKey })`. */
export const createClient = (options: ClientOptions): AssayClient => new AssayClient(options)
