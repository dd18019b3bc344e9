import createClient from 'openapi-fetch'
import type { paths } from './generated/openapi-typescript/api.js'
import { expectEqual, file, refused, settings } from './session.js'

const client = createClient<paths>({ baseUrl: settings.url, headers: { Authorization: `Bearer ${settings.key}` } })
const form = (body: object) => {
  const data = new FormData()
  for (const [name, value] of Object.entries(body)) data.append(name, value)
  return data
}

const uploaded = await client.POST('/api/v1/files/upload', {
  body: { file: file('a.txt', 'hello'), context: 'notes' },
  bodySerializer: form,
})
const fileId = uploaded.data!.data.file_id
expectEqual(uploaded.data!.data.size_bytes, 5)

const list = await client.GET('/api/v1/files', { params: { query: { context: 'notes', page_size: 10 } } })
expectEqual(
  list.data!.data.data.map((item) => item.file_id),
  [fileId],
)

const url = await client.GET('/api/v1/files/{file_id}', { params: { path: { file_id: fileId } } })
expectEqual(await (await fetch(url.data!.data.download_url)).text(), 'hello')

const wrong = await client.POST('/api/v1/files/upload', {
  body: { file: file('a.exe', 'hello'), context: 'notes' },
  bodySerializer: form,
})
if (wrong.error && 'error' in wrong.error && wrong.error.error.code === 'invalid_extension')
  refused(wrong.error.error.details.allowed)
