import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let user: Caller
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  user = await tenant.createUser(['metadata', 'upload', 'admin'])
})
afterAll(() => world.close())

type Query = (...args: unknown[]) => unknown

/** Counts SELECT statements while `act` runs. Using the minimum of several runs excludes periodic statements. */
const reads = async (act: () => Promise<unknown>) => Math.min(await readsOnce(act), await readsOnce(act), await readsOnce(act))

/** Counts SELECT statements while `act` runs, excluding the ledger's, whose grouping varies. */
async function readsOnce(act: () => Promise<unknown>): Promise<number> {
  const { pool } = world.database
  let count = 0
  const real = new Map<{ query: Query }, Query>()
  const listen = (connection: unknown) => {
    const client = connection as { query: Query }
    if (real.has(client)) return
    const query = client.query
    real.set(client, query)
    client.query = (...args) => {
      const [statement] = args as [string | { text: string }]
      if (/^\s*SELECT/i.test(typeof statement === 'string' ? statement : statement.text)) count++
      return query.apply(client, args)
    }
  }
  pool.on('acquire', listen)
  try {
    await act()
  } finally {
    pool.off('acquire', listen)
    for (const [client, query] of real) client.query = query
  }
  return count
}

const dashboard = `{
  files(pageSize: 100) { data { fileId context { contextKey displayName usage { __typename } } uploader { id type name } validation { outcome } } }
  apiKeys(pageSize: 100) { data { apiKeyId contexts recentCalls(first: 3) { callId operation apiKeyId validation { reason } } } }
  contexts(pageSize: 100) { data { contextKey usage { __typename } } }
  callLogs(pageSize: 100) { data { callId validation { outcome } } }
}`

async function addRows(from: number, to: number) {
  for (let index = from; index < to; index++) {
    await tenant.createContext(`context${index}`)
    const key = await tenant.createKey(['upload', 'metadata'], { name: `Key ${index}`, contexts: [`context${index}`] })
    await key.upload(`context${index}`, 'a.txt', 'text')
    await key.upload(`context${index}`, 'a.exe', 'text')
  }
  await user.upload(`context${from}`, 'by-user.txt', 'text')
}

test('requires the same number of database reads for many dashboard rows as for a few', async () => {
  await addRows(0, 2)
  const countReads = async () => {
    const { body } = await user.graphql(dashboard)
    expect(body.errors).toBeUndefined()
    return body.data
  }
  await countReads()
  const few = await reads(countReads)
  await addRows(2, 12)
  const many = await reads(countReads)
  const data = await countReads()
  expect([data.files.data.length, data.apiKeys.data.length, data.contexts.data.length]).toEqual([14, 13, 12])
  expect(few).toBeGreaterThan(5)
  expect(many).toBe(few)
})

describe('GraphQL relations', () => {
  test('returns the context, uploader and report of a file over GraphQL', async () => {
    const { body } = await user.graphql(
      '{ files(pageSize: 100) { data { contextKey uploadedBy uploadedByName originalFilename context { contextKey storageUsedBytes } uploader { id type name } validation { outcome } } } }',
    )
    for (const file of body.data.files.data) {
      const byUser = file.originalFilename === 'by-user.txt'
      expect(file.context.contextKey).toBe(file.contextKey)
      expect(file.context.storageUsedBytes).toBe(['context0', 'context2'].includes(file.contextKey) ? 8 : 4)
      expect(file.uploader).toEqual({
        id: file.uploadedBy,
        type: byUser ? 'user' : 'api_key',
        name: byUser ? 'Ada' : file.uploadedByName,
      })
      expect(file.validation).toEqual({ outcome: 'accepted' })
    }
  })

  test('returns the contexts of a key over GraphQL, or null if it is unrestricted', async () => {
    const { body } = await user.graphql('{ apiKeys(pageSize: 100) { data { name contexts } } }')
    for (const { name, contexts } of body.data.apiKeys.data)
      expect(contexts).toEqual(name === 'Admin' ? null : [name.replace('Key ', 'context')])
  })

  test("returns up to the requested number of a key's calls, newest first", async () => {
    const { body } = await user.graphql(
      '{ apiKeys(pageSize: 100) { data { apiKeyId name recentCalls { callId apiKeyId status validation { reason } } one: recentCalls(first: 1) { callId } } } }',
    )
    for (const key of body.data.apiKeys.data) {
      if (key.name === 'Admin') continue
      expect(
        key.recentCalls.map(({ status, validation }: { status: string; validation: unknown }) => [status, validation]),
      ).toEqual([
        ['failure', { reason: 'invalid_extension' }],
        ['success', null],
      ])
      for (const call of key.recentCalls) expect(call.apiKeyId).toBe(key.apiKeyId)
      expect(key.one).toEqual([{ callId: key.recentCalls[0].callId }])
    }
  })

  test('rejects a GraphQL relation if the key lacks the required scope', async () => {
    const key = await tenant.createKey(['upload'])
    const upload = await key.graphqlUpload(
      'mutation ($file: Upload!) { uploadFile(file: $file, context: "context0") { fileId context { contextKey } validation { outcome } } }',
      {},
      'mine.txt',
      'text',
    )
    expect(upload.body.errors[0]).toMatchObject({ path: ['uploadFile', 'validation'], extensions: { code: 'FORBIDDEN' } })
    expect(upload.body.data.uploadFile).toMatchObject({ context: { contextKey: 'context0' }, validation: null })
  })
})
