import { expect, test } from '@jest/globals'
import { endpoints } from '../src/generated/endpoints.js'
import { createClient, getLinkRules, uploadTo } from '../src/index.js'

const baseUrl = 'https://files.example.com'
const linkUrl = `${baseUrl}/upload/ulk_token`

/** Minimal responses for methods that do not accept an empty list. */
const responses: Record<string, object> = {
  createDownloadUrl: { download_url: `${baseUrl}/download` },
  listEvents: { data: [], last_sequence: 0 },
  getLinkRules: { allowed_extensions: ['txt'], max_size_mb: 1 },
}

const toPattern = (template: string) => new RegExp(`^${template.replaceAll('{tile}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
const rows = Object.entries(endpoints).map(([id, [method, template, acceptsKey]]) => ({
  ...{ id, method, template, acceptsKey },
  pattern: toPattern(template),
}))

/** Finds the operation with this method and path. A path template with fewer parameters takes precedence. */
const findOperation = (method: string, path: string) =>
  rows
    .filter((row) => row.method === method && row.pattern.test(path))
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length)[0]

interface RecordedCall {
  id: string | undefined
  signal: AbortSignal | null | undefined
  hasKey: boolean
}

/** Creates a `fetch` that records the operations that the client calls. */
function record() {
  const calls: RecordedCall[] = []
  const recordingFetch = (async (url: string, init: RequestInit = {}) => {
    const path = new URL(url).pathname
    const row = findOperation(init.method ?? 'GET', path)
    calls.push({ id: row?.id, signal: init.signal, hasKey: new Headers(init.headers).has('Idempotency-Key') })
    if (path === '/api/v1/uploads') return new Response(null, { status: 500 })
    return Response.json({ data: responses[row?.id ?? ''] ?? { data: [] } })
  }) as typeof fetch
  return { calls, fetch: recordingFetch }
}

/** Calls every client method once, with the signal and placeholder arguments. */
async function callAllMethods(fetch: typeof globalThis.fetch, signal: AbortSignal) {
  const client = createClient({ baseUrl, apiKey: 'assay_key', fetch })
  const file = new File(['text'], 'a.txt')
  const options = { signal }
  const special: Record<string, () => unknown> = {
    'files.upload': () => client.files.upload(file, { context: 'notes', signal }),
    'files.validate': () => client.files.validate(file, { context: 'notes', signal }),
    'files.deleteMany': () => client.files.deleteMany(['file_1'], options),
  }
  for (const [group, methods] of Object.entries(client)) {
    for (const [name, method] of Object.entries(methods as Record<string, (...values: unknown[]) => unknown>)) {
      const text = method.toString()
      const parameters = text.slice(text.indexOf('(') + 1, text.indexOf('=>')).split(',')
      const values = parameters.map((parameter) =>
        /options/.test(parameter) ? options : /Id|Key|Type|tile/.test(parameter) ? 'id' : {},
      )
      const result = special[`${group}.${name}`]?.() ?? method(...values)
      if (/^listAll/.test(name)) for await (const _ of result as AsyncIterable<unknown>);
      else await result
    }
  }
  await client.createUploadLink({ context: 'notes' }, options)
  await client.getLastSequence(options)
  for await (const _ of client.events({ follow: false, signal }));
  await getLinkRules(linkUrl, { fetch, signal })
  await uploadTo(linkUrl, file, { fetch, signal })
  await uploadTo(linkUrl, file, { fetch, signal, metadata: { page: 1 } })
}

test('provides a client method for every operation in the OpenAPI document', async () => {
  const { calls, fetch } = record()
  await callAllMethods(fetch, new AbortController().signal)
  const called = new Set(calls.map(({ id }) => id))
  expect(rows.map(({ id }) => id).filter((id) => !called.has(id))).toEqual([])
  expect(rows.length).toBeGreaterThan(70)
})

test('passes the abort signal and a supported idempotency key from every client method to fetch', async () => {
  const { calls, fetch } = record()
  await callAllMethods(fetch, new AbortController().signal)
  expect(calls.filter(({ signal }) => !signal).map(({ id }) => id)).toEqual([])
  const idempotent = new Set<string | undefined>(rows.filter(({ acceptsKey }) => acceptsKey).map(({ id }) => id))
  expect(idempotent.size).toBeGreaterThan(3)
  expect(calls.filter(({ id, hasKey }) => hasKey !== idempotent.has(id)).map(({ id }) => id)).toEqual([])
})

test.each(['', '.', '..'])('rejects the file id %j, because it would change the request path', async (id) => {
  const { calls, fetch } = record()
  const client = createClient({ baseUrl, apiKey: 'assay_key', fetch })
  expect(() => client.files.delete(id)).toThrow(`file_id is '${id}'`)
  expect(calls).toEqual([])
})
