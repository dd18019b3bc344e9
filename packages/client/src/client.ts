import { type EventsOptions, followEvents } from './follow-events.js'
import type { operations } from './generated/openapi.js'
import { minResumableBytes, uploadResumable } from './resumable.js'
import type { Schemas } from './schemas.js'
import { type OpenSource, openSource, type UploadSource } from './source.js'
import { type ClientOptions, type ServiceRequest, Transport, withQuery } from './transport.js'
import { createForm, type Progress } from './upload.js'

type Query<Id extends keyof operations> = NonNullable<operations[Id]['parameters']['query']>
type Page<Item> = { data: Item[]; pagination: Schemas['Pagination'] }

export interface UploadOptions {
  /** Key of the context whose rules validate the file. */
  context: string
  /** File name. Required if the source has no name. */
  filename?: string
  /** Custom metadata, stored with the file. At most 16 KiB as JSON. */
  metadata?: Record<string, unknown>
  /** Called after each sent chunk. */
  onProgress?: (progress: Progress) => void
  signal?: AbortSignal
  /** Idempotency key: repeated uploads with the same key are stored only once. Default: a random UUID. */
  idempotencyKey?: string
  /** Uploads in several requests, so that the upload can be resumed. Default: true above 16 MB. Ignored for streams. */
  resumable?: boolean
}

const apiPath = '/api/v1'
const encodeSegment = encodeURIComponent

const toFormFields = ({ context, metadata }: UploadOptions): Record<string, string> => ({
  context,
  ...(metadata && { metadata: JSON.stringify(metadata) }),
})

/** Client for one service and one credential. Every method throws `AssayError` if the call fails. */
export class AssayClient {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  readonly files = {
    /** Uploads a file. Throws `AssayError` with the reason if the file is rejected. Streams are not retried after an outage. */
    upload: (source: UploadSource, options: UploadOptions): Promise<Schemas['File']> => this.#upload(source, options),
    /** Returns the validation report that an upload would get. The service does not store the file. */
    validate: async (source: UploadSource, options: UploadOptions): Promise<Schemas['ValidationReport']> =>
      this.#sendFile('/files/validate', await openSource(source, options.filename), options, {}),
    /** Returns one page of files, newest first. */
    list: (query: Query<'listFiles'> = {}) => this.#get<Page<Schemas['FileItem']>>('/files', query),
    /** Iterates over all files that match the filters, newest first. Requests one page after another. */
    listAll: (query: Query<'listFiles'> = {}) => this.#listAll<Schemas['FileItem']>('/files', query),
    /** Returns the metadata of a file. */
    get: (fileId: string) => this.#get<Schemas['FileMetadata']>(`/files/${encodeSegment(fileId)}/metadata`),
    /** Returns the latest validation report of a file. */
    getValidation: (fileId: string) => this.#get<Schemas['ValidationReport']>(`/files/${encodeSegment(fileId)}/validation`),
    /** Creates a signed URL that downloads the file without a credential. */
    createDownloadUrl: (fileId: string) => this.#get<Schemas['DownloadUrl']>(`/files/${encodeSegment(fileId)}`),
    /** Downloads a file. Read the returned `Response` as a stream, Blob or text. */
    download: async (fileId: string, signal?: AbortSignal): Promise<Response> => {
      const { download_url } = await this.files.createDownloadUrl(fileId)
      return this.#transport.fetchSigned(download_url, signal)
    },
    /** Deletes a file, or moves it to the trash if its context has one. */
    delete: (fileId: string) => this.#request<{ file_id: string }>('DELETE', `/files/${encodeSegment(fileId)}`),
    /** Deletes up to 100 files. Returns one outcome for each file and does not throw if some of them cannot be deleted. */
    deleteMany: (fileIds: readonly string[]) =>
      this.#request<Schemas['FileDeletion'][]>('POST', '/files/delete', { file_ids: fileIds }),
  }

  readonly contexts = {
    list: (query: Query<'listContexts'> = {}) => this.#get<Page<Schemas['FileContext']>>('/contexts', query),
    get: (contextKey: string) => this.#get<Schemas['FileContext']>(`/contexts/${encodeSegment(contextKey)}`),
    create: (body: Schemas['CreateContextBody']) => this.#create<Schemas['FileContext']>('/contexts', body),
    update: (contextKey: string, body: Schemas['UpdateContextBody']) =>
      this.#request<Schemas['FileContext']>('PATCH', `/contexts/${encodeSegment(contextKey)}`, body),
    delete: (contextKey: string) => this.#request<Schemas['DeletedContext']>('DELETE', `/contexts/${encodeSegment(contextKey)}`),
  }

  readonly apiKeys = {
    list: (query: Query<'listApiKeys'> = {}) => this.#get<Page<Schemas['ApiKey']>>('/api-keys', query),
    get: (apiKeyId: string) => this.#get<Schemas['ApiKey']>(`/api-keys/${encodeSegment(apiKeyId)}`),
    /** Creates an API key. Only this response contains the secret. */
    create: (body: Schemas['CreateApiKeyBody']) => this.#create<Schemas['NewApiKey']>('/api-keys', body),
    enable: (apiKeyId: string) => this.#changeStatus(apiKeyId, 'enable'),
    disable: (apiKeyId: string) => this.#changeStatus(apiKeyId, 'disable'),
    revoke: (apiKeyId: string) => this.#changeStatus(apiKeyId, 'revoke'),
    /** Replaces the secret of an API key. Only this response contains the new secret. */
    rotate: (apiKeyId: string, body: Schemas['RotateApiKeyBody'] = {}) =>
      this.#request<Schemas['NewApiKey']>('POST', `/api-keys/${encodeSegment(apiKeyId)}/rotate`, body),
  }

  /** Creates an upload link. Only this response contains its URL, to which `uploadTo` uploads files without an API key. */
  createUploadLink(body: Schemas['CreateUploadLinkBody']): Promise<Schemas['NewUploadLink']> {
    return this.#create('/upload-links', body)
  }

  readonly uploadLinks = {
    list: (query: Query<'listUploadLinks'> = {}) => this.#get<Page<Schemas['UploadLink']>>('/upload-links', query),
    get: (linkId: string) => this.#get<Schemas['UploadLink']>(`/upload-links/${encodeSegment(linkId)}`),
    /** Revokes an upload link. It stops working immediately. */
    revoke: (linkId: string) => this.#request<Schemas['UploadLink']>('DELETE', `/upload-links/${encodeSegment(linkId)}`),
  }

  readonly stats = {
    overview: () => this.#get<Schemas['Stats']>('/stats'),
    apiCallsChart: (query: Query<'getApiCallsChart'> = {}) =>
      this.#get<Schemas['ApiCallsChart']>('/stats/charts/api-calls', query),
    storageChart: (query: Query<'getStorageChart'> = {}) => this.#get<Schemas['StorageChart']>('/stats/charts/storage', query),
    uploadsChart: (query: Query<'getUploadsChart'> = {}) => this.#get<Schemas['UploadsChart']>('/stats/charts/uploads', query),
  }

  readonly logs = {
    listCalls: (query: Query<'listCallLogs'> = {}) => this.#get<Page<Schemas['CallLog']>>('/stats/logs', query),
    listAllCalls: (query: Query<'listCallLogs'> = {}) => this.#listAll<Schemas['CallLog']>('/stats/logs', query),
    listAuditEntries: (query: Query<'listAuditLogs'> = {}) => this.#get<Page<Schemas['AuditLog']>>('/audit-logs', query),
    listAllAuditEntries: (query: Query<'listAuditLogs'> = {}) => this.#listAll<Schemas['AuditLog']>('/audit-logs', query),
  }

  /** Iterates over the events of the tenant, in order and without duplicates. Waits for new events and reconnects if the connection is lost. */
  events(options: EventsOptions = {}): AsyncGenerator<Schemas['Event']> {
    return followEvents(this.#transport, options)
  }

  /** Returns the sequence number of the latest event. */
  async getLastSequence(): Promise<number> {
    return (await this.#get<{ last_sequence: number }>('/events', { limit: 1 })).last_sequence
  }

  readonly tenant = {
    get: () => this.#get<Schemas['Tenant']>('/tenant'),
    update: (body: Schemas['UpdateTenantBody']) => this.#request<Schemas['Tenant']>('PATCH', '/tenant', body),
  }

  async #upload(source: UploadSource, options: UploadOptions): Promise<Schemas['File']> {
    const opened = await openSource(source, options.filename)
    const { content, filename } = opened
    const { idempotencyKey = crypto.randomUUID(), onProgress, signal } = options
    if (content instanceof Blob && (options.resumable ?? content.size > minResumableBytes)) {
      const metadata = { filename, ...toFormFields(options) }
      return uploadResumable(this.#transport, {
        path: `${apiPath}/uploads`,
        content,
        metadata,
        idempotencyKey,
        onProgress,
        signal,
      })
    }
    return this.#sendFile('/files/upload', opened, options, { 'Idempotency-Key': idempotencyKey })
  }

  async #sendFile<T>(path: string, opened: OpenSource, options: UploadOptions, headers: Record<string, string>): Promise<T> {
    const fields = toFormFields(options)
    const { headers: formHeaders, ...form } = createForm(opened, fields, options.onProgress)
    return this.#transport.requestData<T>({
      method: 'POST',
      path: apiPath + path,
      ...form,
      headers: { ...formHeaders, ...headers },
      signal: options.signal,
      isRepeatable: opened.content instanceof Blob,
    })
  }

  #get<T>(path: string, query: object = {}): Promise<T> {
    return this.#transport.requestData<T>({ method: 'GET', path: withQuery(apiPath + path, query), isRepeatable: true })
  }

  /** Creates an object with an idempotency key, so that a retry does not create it twice. */
  #create<T>(path: string, body: object): Promise<T> {
    return this.#json<T>({ method: 'POST', path: apiPath + path, isRepeatable: true }, body, {
      'Idempotency-Key': crypto.randomUUID(),
    })
  }

  #request<T>(method: string, path: string, body?: object): Promise<T> {
    return this.#json<T>({ method, path: apiPath + path, isRepeatable: false }, body)
  }

  #changeStatus(apiKeyId: string, change: string): Promise<Schemas['ApiKey']> {
    return this.#request('POST', `/api-keys/${encodeSegment(apiKeyId)}/${change}`)
  }

  #json<T>(request: ServiceRequest, body: object | undefined, headers: Record<string, string> = {}): Promise<T> {
    if (body === undefined) return this.#transport.requestData<T>(request)
    return this.#transport.requestData<T>({
      ...request,
      body: () => JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...headers },
    })
  }

  /** Follows the `rel="next"` links. They neither skip nor repeat an item while other clients write. */
  async *#listAll<T>(path: string, query: object): AsyncGenerator<T> {
    let next: string | undefined = withQuery(apiPath + path, { page_size: 100, ...query })
    while (next !== undefined) {
      const page: { items: T[]; next: string | undefined } = await this.#transport.send(
        { method: 'GET', path: next, isRepeatable: true },
        async (response) => ({ items: ((await response.json()) as { data: Page<T> }).data.data, next: getNextPage(response) }),
      )
      yield* page.items
      next = page.next
    }
  }
}

const getNextPage = ({ headers }: Response) => /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]

/** Creates a client for the service at `baseUrl`. */
export const createClient = (options: ClientOptions): AssayClient => new AssayClient(options)
