import type { ApiResponse, Caller } from './world.js'

type Headers = Record<string, string | undefined>

export const encodeUploadMetadata = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')

/** Headers that all tus requests require. */
export const tusHeaders = {
  any: { 'tus-resumable': '1.0.0' },
  bytes: { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
  creation: (context: string) => ({
    'tus-resumable': '1.0.0',
    'upload-length': '4',
    'upload-metadata': encodeUploadMetadata({ filename: 'a.txt', context }),
  }),
}

/** A tus client that sends one request at a time. */
export class Tus {
  constructor(readonly caller: Caller) {}

  options = (path = '/api/v1/uploads', headers: Headers = {}) => this.#send('OPTIONS', path, headers)

  /** A null `size` defers the length. */
  create(context: string, filename: string, size: number | null, headers: Headers = {}, body?: Uint8Array): Promise<ApiResponse> {
    return this.#send(
      'POST',
      '/api/v1/uploads',
      {
        'upload-metadata': encodeUploadMetadata({ filename, context }),
        ...(size === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(size) }),
        ...(body && { 'content-type': 'application/offset+octet-stream' }),
        ...headers,
      },
      body,
    )
  }

  /** Creates an upload without bytes and returns its path. */
  async begin(context: string, filename: string, size: number | null, headers: Headers = {}): Promise<string> {
    const response = await this.create(context, filename, size, headers)
    if (response.status !== 201) throw new Error(`${response.status} ${JSON.stringify(response.body)}`)
    return response.headers.get('location')!
  }

  patch(path: string, offset: number | string, body: Uint8Array | string = '', headers: Headers = {}): Promise<ApiResponse> {
    return this.#send(
      'PATCH',
      path,
      { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset), ...headers },
      body,
    )
  }

  head = (path: string, headers: Headers = {}) => this.#send('HEAD', path, headers)
  get = (path: string) => this.#send('GET', path, {})
  delete = (path: string, headers: Headers = {}) => this.#send('DELETE', path, headers)

  async getOffset(path: string): Promise<number> {
    return Number((await this.head(path)).headers.get('upload-offset'))
  }

  #send(method: string, path: string, headers: Headers, body?: Uint8Array | string): Promise<ApiResponse> {
    const sent: Headers = { 'tus-resumable': '1.0.0', ...headers }
    const input = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return this.caller.raw(path, {
      method,
      headers: Object.fromEntries(input),
      ...(body !== undefined && { body: body as string }),
    })
  }
}
