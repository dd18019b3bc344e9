import { createDownloadUrl, listFiles, uploadFile } from './generated/orval/api.js'
import { expectEqual, file, refused, settings } from './session.js'

const signed: RequestInit = { headers: { Authorization: `Bearer ${settings.key}` } }

const uploaded = await uploadFile({ file: file('a.txt', 'hello'), context: 'notes' }, signed)
if (uploaded.status !== 201) throw new Error(`The upload returned ${uploaded.status}.`)
const fileId = uploaded.data.data.file_id
expectEqual(uploaded.data.data.size_bytes, 5)

const list = await listFiles({ context: 'notes', page_size: 10 }, signed)
if (list.status !== 200) throw new Error(`The list returned ${list.status}.`)
expectEqual(
  list.data.data.data.map((item) => item.file_id),
  [fileId],
)

const url = await createDownloadUrl(fileId, {}, signed)
if (url.status !== 200) throw new Error(`The URL request returned ${url.status}.`)
expectEqual(await (await fetch(url.data.data.download_url)).text(), 'hello')

const wrong = await uploadFile({ file: file('a.exe', 'hello'), context: 'notes' }, signed)
if (wrong.status === 422 && 'error' in wrong.data && wrong.data.error.code === 'invalid_extension')
  refused(wrong.data.error.details.allowed)
