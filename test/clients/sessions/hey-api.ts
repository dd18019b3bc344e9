import { client } from './generated/hey-api/client.gen.js'
import { createDownloadUrl, listFiles, uploadFile } from './generated/hey-api/sdk.gen.js'
import { expectEqual, file, refused, settings } from './session.js'

client.setConfig({ baseUrl: settings.url, auth: () => settings.key })

const uploaded = await uploadFile({ body: { file: file('a.txt', 'hello'), context: 'notes' }, throwOnError: true })
const fileId = uploaded.data.data.file_id
expectEqual(uploaded.data.data.size_bytes, 5)

const list = await listFiles({ query: { context: 'notes', page_size: 10 }, throwOnError: true })
expectEqual(
  list.data.data.data.map((item) => item.file_id),
  [fileId],
)

const url = await createDownloadUrl({ path: { file_id: fileId }, throwOnError: true })
expectEqual(await (await fetch(url.data.data.download_url)).text(), 'hello')

const wrong = await uploadFile({ body: { file: file('a.exe', 'hello'), context: 'notes' } })
if (wrong.error && 'error' in wrong.error && wrong.error.error.code === 'invalid_extension')
  refused(wrong.error.error.details.allowed)
