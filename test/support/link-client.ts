import { encodeUploadMetadata } from './tus.js'
import { type ApiResponse, Caller } from './world.js'

/** An upload link client, whose only credential is the token in the URL. */
export class LinkClient {
  readonly path: string
  readonly #client: Caller

  constructor(
    readonly url: string,
    /** `data` in the response that created the link. */
    readonly link: Record<string, unknown>,
    base = new URL(url).origin,
  ) {
    this.path = new URL(url).pathname
    this.#client = new Caller(base, undefined)
  }

  get id(): string {
    return this.link.link_id as string
  }

  get token(): string {
    return this.path.split('/')[2]!
  }

  static async create(by: Caller, context: string, more: Record<string, unknown> = {}): Promise<LinkClient> {
    const { status, body } = await by.post('/upload-links', { context, ...more })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return new LinkClient(body.data.url, body.data, by.url)
  }

  /** Returns a client for the same link at another replica. */
  at(url: string): LinkClient {
    return new LinkClient(this.url, this.link, url)
  }

  request = (method: string, path = '', init: RequestInit = {}): Promise<ApiResponse> =>
    this.#client.raw(this.path + path, { method, ...init })

  rules = (headers: Record<string, string> = {}): Promise<ApiResponse> => this.request('GET', '', { headers })

  put = (name: string, content: string | Uint8Array, headers: Record<string, string> = {}): Promise<ApiResponse> =>
    this.request('PUT', `/${encodeURIComponent(name)}`, { body: content as string, headers })

  post(name: string, content: string | Uint8Array, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
    const form = new FormData()
    for (const [field, value] of Object.entries(fields)) form.append(field, value)
    form.append('file', new Blob([content as string]), name)
    return this.request('POST', '', { body: form, headers })
  }

  /** Creates a resumable upload and returns its path below the link. */
  async beginTus(filename: string, size: number, more: Record<string, string> = {}): Promise<string> {
    const headers = { 'upload-length': String(size), 'upload-metadata': encodeUploadMetadata({ filename, ...more }) }
    const answer = await this.tus('POST', '/tus', headers)
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.headers.get('location')!.slice(this.path.length)
  }

  patch = (path: string, offset: number, body: string): Promise<ApiResponse> =>
    this.tus('PATCH', path, { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) }, body)

  tus = (method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<ApiResponse> =>
    this.request(method, path, { headers: { 'tus-resumable': '1.0.0', ...headers }, ...(body !== undefined && { body }) })
}

/** Removes the request id and time from a response for comparison. */
export const toComparable = ({ status, headers, body }: ApiResponse): unknown => {
  const { request_id: _id, timestamp: _time, ...rest } = typeof body === 'string' ? { body } : body
  const ignored = ['x-request-id', 'date', 'connection', 'keep-alive', 'content-length', 'access-control-allow-methods', 'vary']
  return { status, headers: [...headers].filter(([name]) => !ignored.includes(name)).sort(), body: rest }
}
