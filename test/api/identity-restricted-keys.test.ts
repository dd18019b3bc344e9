import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getData, getGraphqlCode, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

describe('keys restricted to some contexts', () => {
  let tenant: TestTenant
  let key: Caller
  const files: Record<string, string> = {}
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('mine')
    await tenant.createContext('other')
    for (const context of ['mine', 'other'])
      files[context] = getData(await tenant.admin.upload(context, 'a.txt', context), {
        status: 201,
        message: true,
        timestamp: false,
      }).file_id
    key = await tenant.createKey(['upload', 'download', 'metadata', 'delete'], { contexts: ['mine'] })
  })

  test('allows a restricted key to read its context and the files in it', async () => {
    expect(getItems(await key.get('/contexts')).map((context: Record<string, string>) => context.context_key)).toEqual(['mine'])
    expect((await key.get('/contexts')).body.data.pagination.total_items).toBe(1)
    expect((await key.get('/contexts/mine')).status).toBe(200)
    const listed = await key.get('/files')
    expect(getItems(listed).map((file: Record<string, string>) => file.file_id)).toEqual([files.mine])
    expect(listed.body.data.pagination.total_items).toBe(1)
    for (const path of [`/files/${files.mine}`, `/files/${files.mine}/metadata`, `/files/${files.mine}/validation`])
      expect((await key.get(path)).status).toBe(200)
    expect((await key.upload('mine', 'b.txt', 'b')).status).toBe(201)
    for (const path of ['/stats/by-context/files', '/stats/by-context/api-calls'])
      expect(getData(await key.get(path)).map((row: Record<string, string>) => row.context_key)).toEqual(['mine'])
  })

  test('returns the same response for a hidden context as for an unknown context', async () => {
    const nowhere = `file_${files.other!.slice(5, -4)}zzzz`
    const same = (other: ApiResponse, unknown: ApiResponse, [id, ghost]: [string, string]) => {
      expect(toStatusAndCode(other)).toEqual([404, 'not_found'])
      const toErrorText = ({ body: { message, error } }: ApiResponse) => JSON.stringify({ message, error })
      expect(toErrorText(other).replaceAll(id, 'ID')).toBe(toErrorText(unknown).replaceAll(ghost, 'ID'))
    }
    const contexts: [string, string] = ['other', 'ghost']
    same(await key.get('/contexts/other'), await key.get('/contexts/ghost'), contexts)
    for (const path of ['/files/upload', '/files/validate'])
      same(await key.upload('other', 'a.txt', 'a', { path }), await key.upload('ghost', 'a.txt', 'a', { path }), contexts)
    const ids: [string, string] = [files.other!, nowhere]
    for (const rest of ['', '/metadata', '/validation'])
      same(await key.get(`/files/${ids[0]}${rest}`), await key.get(`/files/${ids[1]}${rest}`), ids)
    same(await key.delete(`/files/${ids[0]}`), await key.delete(`/files/${ids[1]}`), ids)
    expect((await key.get('/files?context=other')).body.data).toEqual((await key.get('/files?context=ghost')).body.data)
    expect((await tenant.admin.get(`/files/${files.other}`)).status).toBe(200)
  })

  test("enforces a restricted key's contexts in GraphQL relations and connections", async () => {
    const observed = await key.graphql(
      `{ contexts { data { contextKey } } files { data { fileId context { contextKey } } } filesConnection { edges { node { contextKey } } }
         filesByContext { contextKey } apiCallsByContext { contextKey } }`,
    )
    expect(observed.body.errors).toBeUndefined()
    expect(JSON.stringify(observed.body)).not.toContain('other')
    expect(getGraphqlCode(await key.graphql('{ context(contextKey: "other") { contextId } }'))).toBe('NOT_FOUND')
    expect(getGraphqlCode(await key.graphql('query ($id: ID!) { file(fileId: $id) { fileId } }', { id: files.other }))).toBe(
      'NOT_FOUND',
    )
    const refusedMutations = ['createDownloadUrl(fileId: $id) { downloadUrl }', 'deleteFile(fileId: $id) { fileId }']
    for (const mutation of refusedMutations)
      expect(getGraphqlCode(await key.graphql(`mutation ($id: ID!) { ${mutation} }`, { id: files.other }))).toBe('NOT_FOUND')
  })

  test('rejects requests for tenant-wide data from a restricted key', async () => {
    const paths = ['/stats', '/stats/logs', '/stats/charts/api-calls', '/stats/charts/storage', '/stats/charts/uploads']
    for (const path of paths) expect(toStatusAndCode(await key.get(path))).toEqual([403, 'forbidden'])
  })

  test('rejects a new restricted key with invalid contexts or with the admin scope', async () => {
    const make = (more: object) => tenant.admin.post('/api-keys', { name: 'x', ...more })
    expect(getInvalidFields(await make({ contexts: ['mine', 'ghost'] }))).toEqual(['contexts'])
    expect(getInvalidFields(await make({ contexts: [] }))).toEqual(['contexts'])
    expect(getInvalidFields(await make({ contexts: 'mine' }))).toEqual(['contexts'])
    expect(getInvalidFields(await make({ contexts: ['mine'], scopes: ['admin'] }))).toEqual(['contexts'])
  })

  test('denies a restricted key access to a new context with the same name as a deleted one', async () => {
    await tenant.createContext('passing')
    const passing = await tenant.createKey(['metadata', 'upload'], { contexts: ['passing'] })
    await tenant.admin.delete('/contexts/passing')
    expect(getItems(await passing.get('/contexts'))).toEqual([])
    await tenant.createContext('passing')
    expect(toStatusAndCode(await passing.get('/contexts/passing'))).toEqual([404, 'not_found'])
    expect(getItems(await passing.get('/files'))).toEqual([])
  })
})
