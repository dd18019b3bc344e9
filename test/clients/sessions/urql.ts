import { Client, cacheExchange, fetchExchange } from '@urql/core'
import { downloadUrl, list, node, upload } from './documents.js'
import { expectEqual, file, refused, settings } from './session.js'

const client = new Client({
  url: `${settings.url}/graphql`,
  exchanges: [cacheExchange, fetchExchange],
  preferGetMethod: false,
  fetchOptions: { headers: { Authorization: `Bearer ${settings.key}`, 'Apollo-Require-Preflight': 'true' } },
})

const uploaded = await client.mutation(upload, { file: file('a.txt', 'hello'), context: 'notes' }).toPromise()
const id = uploaded.data!.uploadFile!.id
expectEqual(uploaded.data!.uploadFile!.sizeBytes, 5)

const listed = await client.query(list, { context: 'notes', first: 10, unknown: 'file_x' }).toPromise()
const { totalCount, edges } = listed.data!.filesConnection!
expectEqual([totalCount, edges.map((edge) => edge.node.id)], [1, [id]])
// An error in one root field does not discard another field's data.
expectEqual([listed.data!.file, listed.error!.graphQLErrors[0]!.extensions.code], [null, 'NOT_FOUND'])

const found = await client.query(node, { id }).toPromise()
const thing = found.data!.node!
expectEqual(thing.__typename === 'File' && thing.contentType, 'text/plain')

const created = await client.mutation(downloadUrl, { id }).toPromise()
expectEqual(await (await fetch(created.data!.createDownloadUrl!.downloadUrl)).text(), 'hello')

const wrong = await client.mutation(upload, { file: file('a.exe', 'hello'), context: 'notes' }).toPromise()
const { code, details } = wrong.error!.graphQLErrors[0]!.extensions as { code: string; details: { allowed: string[] } }
if (code === 'INVALID_EXTENSION') refused(details.allowed)
