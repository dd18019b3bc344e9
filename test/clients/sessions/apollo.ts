/// <reference path="./apollo-upload-client.d.ts" />
import { ApolloClient, CombinedGraphQLErrors, InMemoryCache } from '@apollo/client'
import UploadHttpLink from 'apollo-upload-client/UploadHttpLink.mjs'
import { downloadUrl, list, node, upload } from './documents.js'
import { expectEqual, file, refused, settings } from './session.js'

const client = new ApolloClient({
  link: new UploadHttpLink({
    uri: `${settings.url}/graphql`,
    headers: { Authorization: `Bearer ${settings.key}`, 'Apollo-Require-Preflight': 'true' },
  }),
  cache: new InMemoryCache({ possibleTypes: { Node: ['File', 'FileContext', 'ApiKey'] } }),
})

const { data: uploaded } = await client.mutate({
  mutation: upload,
  variables: { file: file('a.txt', 'hello'), context: 'notes' },
})
const id = uploaded!.uploadFile!.id
expectEqual(uploaded!.uploadFile!.sizeBytes, 5)

const { data: listed, error } = await client.query({
  query: list,
  variables: { context: 'notes', first: 10, unknown: 'file_x' },
  errorPolicy: 'all',
})
expectEqual([listed!.filesConnection!.totalCount, listed!.filesConnection!.edges.map((edge) => edge.node.id)], [1, [id]])
// An error in one root field does not discard another field's data.
expectEqual(listed!.file, null)
expectEqual(CombinedGraphQLErrors.is(error) && error.errors[0]!.extensions?.code, 'NOT_FOUND')
// The cache normalizes the file by its id so that queries share it.
expectEqual(Object.keys(client.cache.extract() as object).includes(`File:${id}`), true)
const { data: found } = await client.query({ query: node, variables: { id } })
const thing = found!.node!
expectEqual(thing.__typename === 'File' && thing.contentType, 'text/plain')

const { data: created } = await client.mutate({ mutation: downloadUrl, variables: { id } })
expectEqual(await (await fetch(created!.createDownloadUrl!.downloadUrl)).text(), 'hello')

try {
  await client.mutate({ mutation: upload, variables: { file: file('a.exe', 'hello'), context: 'notes' } })
} catch (failure) {
  if (CombinedGraphQLErrors.is(failure) && failure.errors[0]!.extensions?.code === 'INVALID_EXTENSION')
    refused((failure.errors[0]!.extensions.details as { allowed: string[] }).allowed)
}
client.stop()
