import { endpoints } from './generated/endpoints.js'
import type { operations } from './generated/openapi.js'
import { appendQuery, readJson, type Transport } from './transport.js'

export type OperationId = keyof operations
export type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>
export type Body<Id extends OperationId> = operations[Id]['body']
export type Data<Id extends OperationId> = operations[Id]['data']

/** Options for a single call. They are the last parameter of every client method. */
export interface CallOptions {
  signal?: AbortSignal | undefined
}

/** Options for methods that create an object. The idempotency key ensures that a retry does not create a second object. */
export interface CreateOptions extends CallOptions {
  /** Key under which the service stores the response for 24 hours. Default: a random UUID. */
  idempotencyKey?: string | undefined
}

interface CallInput<Id extends OperationId> extends CreateOptions {
  /** Path parameters, in the order of the path template. */
  path?: readonly string[]
  query?: Query<Id>
  body?: Body<Id>
}

type ListedItem<Id extends OperationId> = Data<Id> extends { data: (infer Item)[] } ? Item : never

/** Calls API operations by their OpenAPI `operationId`. */
export class Caller {
  constructor(readonly transport: Transport) {}

  /** Calls an operation and returns the `data` of its JSON response. */
  request<Id extends OperationId>(id: Id, input: CallInput<Id> = {}): Promise<Data<Id>> {
    return this.transport.requestData(toRequest(id, input))
  }

  /** Calls an operation whose response is not JSON. */
  fetchResponse<Id extends OperationId, T = Response>(
    id: Id,
    input: CallInput<Id>,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    return this.transport.send(toRequest(id, input), read)
  }

  /** Iterates over a list by following `rel="next"` links. No items are skipped or repeated, even during concurrent writes. */
  async *listAll<Id extends OperationId>(id: Id, input: CallInput<Id>): AsyncGenerator<ListedItem<Id>> {
    const first = toRequest(id, { ...input, query: { page_size: 100, ...input.query } as Query<Id> })
    for (let path: string | undefined = first.path; path !== undefined; ) {
      const page: { items: ListedItem<Id>[]; next: string | undefined } = await this.transport.send(
        { ...first, path },
        readPage<ListedItem<Id>>,
      )
      yield* page.items
      path = page.next
    }
  }
}

function toRequest<Id extends OperationId>(id: Id, { path = [], query, body, signal, idempotencyKey }: CallInput<Id>) {
  const [method, template, acceptsIdempotencyKey] = endpoints[id]
  const headers: Record<string, string> = {}
  if (acceptsIdempotencyKey) headers['Idempotency-Key'] = idempotencyKey ?? crypto.randomUUID()
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  return {
    method,
    path: appendQuery(fillPathTemplate(template, path), query ?? {}),
    headers,
    body: body === undefined ? undefined : () => JSON.stringify(body),
    signal,
    isRepeatable: method === 'GET' || acceptsIdempotencyKey === true,
  }
}

/** Fills in the path parameters. Throws a TypeError if a value, such as an empty id, would change the structure of the path. */
function fillPathTemplate(template: string, values: readonly string[]): string {
  let index = 0
  return template.replaceAll(/\{(\w+)\}/g, (_parameter, name) => {
    const value = values[index++]
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} is '${value}'. It must be an id or a key.`)
    // A tile path such as `0/x001/234` has several segments, so its slashes must not be escaped.
    return name === 'tile' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value)
  })
}

async function readPage<Item>(response: Response): Promise<{ items: Item[]; next: string | undefined }> {
  const { data } = await readJson<{ data: { data: Item[] } }>(response)
  return { items: data.data, next: /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1] }
}
