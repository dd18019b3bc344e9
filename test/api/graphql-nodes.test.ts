import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getGraphqlCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let other: TestTenant
let user: Caller
const ids: Record<string, string> = {}
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  other = await world.createTenant()
  user = await tenant.createUser(['admin'])
  const context = await tenant.createContext('notes')
  await tenant.createContext('letters')
  const key = await tenant.createKey(['upload'])
  const uploaded = await key.upload('notes', 'a.txt', 'text')
  await key.upload('notes', 'a.exe', 'text')
  const { body } = await user.graphql(
    '{ me { id tenantId } callLogs(operation: upload) { data { callId } } auditLogs { data { auditId } } }',
  )
  Object.assign(ids, {
    File: uploaded.body.data.file_id,
    FileContext: context.context_id,
    ApiKey: key.id,
    CallLog: body.data.callLogs.data[0].callId,
    AuditLog: body.data.auditLogs.data[0].auditId,
    User: body.data.me.id,
    Tenant: body.data.me.tenantId,
  })
})
afterAll(() => world.close())

const types = ['File', 'FileContext', 'ApiKey', 'CallLog', 'AuditLog', 'User', 'Tenant']
const ownId = {
  File: 'fileId',
  FileContext: 'contextId',
  ApiKey: 'apiKeyId',
  CallLog: 'callId',
  AuditLog: 'auditId',
  User: 'userId',
  Tenant: 'tenantId',
}
const spreads = Object.entries(ownId)
  .map(([type, field]) => `... on ${type} { own${type}: ${field} }`)
  .join(' ')
const find = (caller: Caller, id: string) =>
  caller.graphql(`query ($id: ID!) { node(id: $id) { __typename id ${spreads} } }`, { id })

describe('node query', () => {
  test.each(types)('returns an object of type %s by its id from the node query', async (type) => {
    const { body } = await find(user, ids[type]!)
    expect(body).toEqual({ data: { node: { __typename: type, id: ids[type], [`own${type}`]: ids[type] } } })
  })

  test.each(types)("returns null and NOT_FOUND from the node query for another tenant's object of type %s", async (type) => {
    const response = await find(other.admin, ids[type]!)
    expect([getGraphqlCode(response), response.body.data]).toEqual(['NOT_FOUND', { node: null }])
  })

  const needs = {
    File: 'metadata',
    FileContext: 'upload',
    ApiKey: 'admin',
    CallLog: 'metadata',
    AuditLog: 'admin',
    User: 'admin',
  }
  test.each(Object.entries(needs))(
    'applies the scope rules to an object of type %s in the node query (scope: %s)',
    async (type, scope) => {
      const wrong = await tenant.createKey([type === 'FileContext' ? 'download' : scope === 'metadata' ? 'upload' : 'metadata'])
      expect(getGraphqlCode(await find(wrong, ids[type]!))).toBe(type === 'FileContext' ? undefined : 'FORBIDDEN')
      expect(getGraphqlCode(await find(await tenant.createKey([scope]), ids[type]!))).toBeUndefined()
    },
  )

  test("the node query returns no objects outside a restricted key's contexts", async () => {
    const restricted = await tenant.createKey(['metadata'], { contexts: ['letters'] })
    const codes = await Promise.all(
      ['File', 'FileContext', 'CallLog'].map(async (type) => getGraphqlCode(await find(restricted, ids[type]!))),
    )
    expect(codes).toEqual(['NOT_FOUND', 'NOT_FOUND', 'FORBIDDEN'])
  })

  test.each(['', 'file', 'file_x', 'req_00000000000000000000000000', `${'x'.repeat(5_000)}`])(
    'treats the malformed id %j in a node query as unknown',
    async (id) => {
      expect(getGraphqlCode(await find(user, id))).toBe('NOT_FOUND')
    },
  )

  test('logs a file read through the node query as a metadata call', async () => {
    const key = await tenant.createKey(['metadata'])
    await find(key, ids.File!)
    const { body } = await user.get(`/stats/logs?api_key_id=${key.id}`)
    expect(body.data.data).toMatchObject([{ operation: 'metadata', status: 'success', file_id: ids.File }])
  })
})

test('provides an id for every item in a GraphQL list', async () => {
  const { body } = await user.graphql(`{
    files { data { id fileId } } contexts { data { id contextId } } apiKeys { data { id apiKeyId } } tenant { id tenantId }
    callLogs { data { id callId } } auditLogs { data { id auditId } } users { data { id userId } } mySessions { data { id sessionId } }
  }`)
  const items = Object.values<{ data?: object[] }>(body.data).flatMap((list) => list.data ?? [list])
  expect(items.length).toBeGreaterThan(10)
  for (const item of items) expect(new Set(Object.values(item)).size).toBe(1)
})

interface PageField {
  name: string
  type: { ofType: { ofType: { ofType: { fields: { name: string }[] } } } }
}

test('provides an id for every item type of a GraphQL list page', async () => {
  const { body } = await user.graphql(
    '{ __schema { types { name fields { name type { ofType { ofType { ofType { fields { name } } } } } } } } }',
  )
  const pages = body.data.__schema.types.filter(({ name }: { name: string }) => name.endsWith('Page'))
  const without = pages.filter(({ fields }: { fields: PageField[] }) => {
    const items = fields.find(({ name }) => name === 'data')!.type.ofType.ofType.ofType
    return !items.fields.some(({ name }) => name === 'id')
  })
  expect(pages.length).toBeGreaterThan(15)
  expect(without).toEqual([])
})

test('returns unique ids for context versions and consistent ids for validation reports', async () => {
  const { body } = await user.graphql(
    `query ($id: ID!) {
      contextVersions(contextKey: "notes") { data { id } }
      fileValidation(fileId: $id) { id } fileValidations(fileId: $id) { data { id } }
    }`,
    { id: ids.File },
  )
  const { contextVersions, fileValidation, fileValidations } = body.data
  expect(contextVersions.data).toEqual([{ id: `${ids.FileContext}:1` }])
  expect(fileValidations.data).toEqual([fileValidation])
  expect(fileValidation.id).toMatch(/^[0-9a-f]{64}$/)
})

describe('partial errors in a GraphQL request', () => {
  test('returns the other fields of a GraphQL query if the credential lacks the scope for one field', async () => {
    const key = await tenant.createKey(['metadata'])
    const { status, body } = await key.graphql(
      '{ files { pagination { totalItems } } file(fileId: "file_x") { fileId } apiKeys { data { apiKeyId } } tenant { name } }',
    )
    expect([status, body.data]).toEqual([
      200,
      { files: { pagination: { totalItems: 1 } }, file: null, apiKeys: null, tenant: null },
    ])
    const reported = body.errors.map(({ path, extensions }: { path: string[]; extensions: { code: string } }) => [
      path[0],
      extensions.code,
    ])
    expect(reported.sort()).toEqual([
      ['apiKeys', 'FORBIDDEN'],
      ['file', 'NOT_FOUND'],
      ['tenant', 'FORBIDDEN'],
    ])
  })

  test('returns the secret of a created key even if another field fails', async () => {
    const { body } = await user.graphql(
      'mutation { createApiKey(input: { name: "One" }) { apiKey } deleteFile(fileId: "file_x") { fileId } }',
    )
    expect(body.data).toEqual({ createApiKey: { apiKey: expect.stringMatching(/^assay_/) }, deleteFile: null })
  })
})

test('uses the same names for GraphQL enum values as for REST reasons and error codes', async () => {
  const { body } = await user.graphql(`{
    callLogs(operation: upload, status: failure) { data { errorCode validation { reason checks { check } } } }
    reason: __type(name: "RefusalReason") { enumValues { name } } code: __type(name: "ErrorCode") { kind }
  }`)
  expect(body.data.callLogs.data).toMatchObject([{ errorCode: 'invalid_extension', validation: { reason: 'invalid_extension' } }])
  expect(body.data.reason.enumValues).toContainEqual({ name: 'scan_incomplete' })
  expect(body.data.code).toEqual({ kind: 'ENUM' })
})

test('provides a specification URL for each custom GraphQL scalar', async () => {
  const { body } = await user.graphql('{ __schema { types { name kind specifiedByURL } } }')
  const own = body.data.__schema.types.filter(
    ({ kind, name }: { kind: string; name: string }) =>
      kind === 'SCALAR' && !['ID', 'String', 'Int', 'Float', 'Boolean'].includes(name),
  )
  expect(own.length).toBeGreaterThan(3)
  for (const { specifiedByURL } of own) expect(specifiedByURL).toMatch(/^https:\/\//)
})
