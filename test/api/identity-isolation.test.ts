import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type GraphQLObjectType, getNamedType, isObjectType } from 'graphql'
import { getData, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

interface Owner extends Omit<TestTenant, 'user'> {
  user: Caller
  files: string[]
  contextId: string
  callIds: string[]
  auditIds: string[]
}

let world: World
let one: Owner
let two: Owner
const email = 'twin@example.com'

beforeAll(async () => {
  world = await World.open()
  ;[one, two] = [await createOwner('one'), await createOwner('two')]
})
afterAll(() => world.close())

/** Creates tenants with equal names and settings but different file sizes and contents. */
async function createOwner(content: string): Promise<Owner> {
  const tenant = await world.createTenant({ name: 'The same name' })
  const context = await tenant.createContext('invoices')
  const files: string[] = []
  for (const name of ['a.txt', 'b.txt']) {
    const uploaded = await tenant.admin.upload('invoices', name, `${content} ${name}`, {
      headers: { 'idempotency-key': `same ${name}`.replace(' ', '-') },
    })
    files.push(getData(uploaded, { status: 201, message: true, timestamp: false }).file_id)
  }
  expect((await tenant.admin.upload('invoices', 'evil.exe', 'MZ')).status).toBe(422)
  await tenant.admin.get(`/files/${files[0]}`)
  const user = await tenant.createUser(['admin'], email)
  const callIds = getItems(await tenant.admin.get('/stats/logs')).map((call: Record<string, string>) => call.call_id)
  const auditIds = getItems(await tenant.admin.get('/audit-logs')).map((entry: Record<string, string>) => entry.audit_id)
  return Object.assign(tenant, { user, files, contextId: String(context.context_id), callIds, auditIds })
}

/** Returns a tenant's ids and secrets, which no other tenant may receive. */
const listIdsAndSecrets = (of: Owner) => [of.tenantId, of.admin.id, of.contextId, ...of.files, ...of.callIds, ...of.auditIds]
const hasNothingOf = (response: ApiResponse, other: Owner) => {
  // Error messages may repeat ids that the caller sent.
  const text = JSON.stringify(response.body, (name, value) => (/^error_?message$/i.test(name) ? undefined : value))
  expect(listIdsAndSecrets(other).filter((mark) => text.includes(mark))).toEqual([])
}

const lists = [
  '/api-keys',
  '/contexts',
  '/contexts/invoices',
  '/files',
  '/files?context=invoices',
  '/stats',
  '/stats/charts/api-calls',
  '/stats/charts/storage',
  '/stats/charts/uploads',
  '/stats/by-context/api-calls',
  '/stats/by-context/files',
  '/stats/logs',
  '/stats/logs?operation=upload&status=success',
  '/audit-logs',
  '/audit-logs?audit_type=file&action=created',
  '/tenant',
]

describe.each([
  ['by key', (of: Owner) => of.admin as Caller],
  ['by user', (of: Owner) => of.user as Caller],
])('isolation of two tenants with the same data, accessed %s', (_how, caller) => {
  test.each(lists)("returns only data that belongs to the caller's tenant at %s", async (path) => {
    for (const [own, foreign] of [
      [one, two],
      [two, one],
    ] as const) {
      const response = await caller(own).get(path)
      expect(response.status).toBe(200)
      hasNothingOf(response, foreign)
    }
  })

  test('computes the counts, sizes and statistics of two tenants independently', async () => {
    const { data } = (await caller(one).get('/stats')).body
    expect(data.overview).toMatchObject({ total_files: 2, total_contexts: 1, total_api_keys: 1, total_downloads: 1 })
    expect(data.storage.total_bytes).toBe(2 * 'one a.txt'.length)
    expect(data.security).toMatchObject({ files_blocked_total: 1, by_reason: { invalid_extension: 1 } })
    expect((await caller(one).get('/files')).body.data.pagination.total_items).toBe(2)
    expect((await caller(one).get('/contexts')).body.data.pagination.total_items).toBe(1)
    expect(getData(await caller(one).get('/tenant'))).toMatchObject({
      tenant_id: one.tenantId,
      storage_used_bytes: 2 * 'one a.txt'.length,
    })
  })

  test("returns the same response for another tenant's id as for an unknown id", async () => {
    // Returns an unknown id in the same format.
    const toUnknownId = (id: string) => `${id.slice(0, -6)}zzzzzz`
    const same = async (real: string, at: (id: string) => Promise<ApiResponse>) => {
      const getResponses = async (id: string) => {
        const { status, body } = await at(id)
        const { request_id: _id, timestamp: _at, ...rest } = body
        return JSON.stringify([status, rest]).replaceAll(id, 'ID')
      }
      expect(await getResponses(real)).toBe(await getResponses(toUnknownId(real)))
    }
    const by = caller(one)
    for (const rest of ['', '/metadata', '/validation']) await same(two.files[0]!, (id) => by.get(`/files/${id}${rest}`))
    await same(two.files[0]!, (id) => by.delete(`/files/${id}`))
    await same(two.admin.id, (id) => by.get(`/api-keys/${id}`))
    for (const how of ['enable', 'disable', 'revoke', 'rotate'])
      await same(two.admin.id, (id) => by.post(`/api-keys/${id}/${how}`, how === 'rotate' ? {} : undefined))
    await same(two.admin.id, (id) => by.get(`/stats/logs?api_key_id=${id}`))
    await same(two.admin.id, (id) => by.get(`/files?uploaded_by=${id}`))
    for (const [type, id] of [
      ['api_key', two.admin.id],
      ['file', two.files[0]!],
      ['context', two.contextId],
    ] as const) {
      await same(id, (entity) => by.get(`/audit-logs/entity/${type}/${entity}`))
      await same(id, (entity) => by.get(`/audit-logs?entity_id=${entity}`))
    }
    const userId = (await two.user.graphql('{ me { userId } }')).body.data.me.userId
    const mutations = [
      'disableUser(userId: $id) { status }',
      'updateUser(userId: $id, input: { name: "x" }) { name }',
      'enableUser(userId: $id) { status }',
    ]
    for (const mutation of mutations) await same(userId, (id) => by.graphql(`mutation ($id: ID!) { ${mutation} }`, { id }))
    await same(two.files[0]!, (id) =>
      by.graphql('mutation ($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl } }', { id }),
    )
    // The rejected request must have no effect on the other tenant's file.
    expect((await two.admin.get(`/files/${two.files[0]}/metadata`)).status).toBe(200)
    expect((await two.user.get('/files')).status).toBe(200)
  })

  test('returns no data for a cursor from another tenant', async () => {
    const connections = ['filesConnection', 'callLogsConnection', 'auditLogsConnection']
    for (const connection of connections) {
      const page = (of: Caller, after: string | null) =>
        of.graphql(
          `query ($after: String) { ${connection}(first: 1, after: $after) { edges { cursor node { __typename ${connection === 'filesConnection' ? 'fileId' : connection === 'callLogsConnection' ? 'callId' : 'auditId'} } } pageInfo { endCursor } } }`,
          { after },
        )
      const cursor = (await page(caller(two), null)).body.data[connection].pageInfo.endCursor
      hasNothingOf(await page(caller(one), cursor), two)
    }
  })

  test("returns only the caller's data from every GraphQL field without arguments", async () => {
    const selection = (type: GraphQLObjectType, depth: number): string =>
      Object.values(type.getFields())
        .filter((field) => field.args.every((arg) => arg.defaultValue !== undefined || !String(arg.type).endsWith('!')))
        .map((field) => {
          const named = getNamedType(field.type)
          if (!isObjectType(named)) return field.name
          return depth > 0 ? `${field.name} { ${selection(named, depth - 1)} }` : ''
        })
        .join(' ')
    const schema = await loadSchema()
    // The receipt query requires exactly one of its two arguments.
    const roots = Object.values(schema.getQueryType()!.getFields()).filter(
      ({ name, args }) =>
        name !== 'receipt' && args.every((arg) => !String(arg.type).endsWith('!') || arg.defaultValue !== undefined),
    )
    expect(roots.length).toBeGreaterThan(12)
    for (const root of roots) {
      const named = getNamedType(root.type) as GraphQLObjectType
      const sized = root.args.some(({ name }) => name === 'first')
        ? '(first: 5)'
        : root.args.some(({ name }) => name === 'pageSize')
          ? '(pageSize: 5)'
          : ''
      const response = await caller(one).graphql(`{ ${root.name}${sized} { ${selection(named, 5)} } }`)
      // Storage health covers all tenants but contains only counts.
      expect([root.name, response.body.errors]).toEqual([root.name, undefined])
      hasNothingOf(response, two)
    }
  })
})

async function loadSchema() {
  const { buildClientSchema, getIntrospectionQuery } = await import('graphql')
  return buildClientSchema((await world.unauthenticated.graphql(getIntrospectionQuery())).body.data)
}

describe("effects of one tenant's actions on other tenants", () => {
  test('stores the Idempotency-Keys of two tenants separately', async () => {
    const again = await one.admin.upload('invoices', 'a.txt', 'one a.txt', { headers: { 'idempotency-key': 'same-a.txt' } })
    expect(again.body.data.file_id).toBe(one.files[0])
    const foreign = await two.admin.upload('invoices', 'a.txt', 'two a.txt', { headers: { 'idempotency-key': 'same-a.txt' } })
    expect(foreign.body.data.file_id).toBe(two.files[0])
    const fresh = { context_key: 'fresh', display_name: 'F', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    const created = await Promise.all(
      [one, two].map(({ admin }) => admin.post('/contexts', fresh, { 'idempotency-key': 'make' })),
    )
    expect(created.map(({ body }) => body.data.tenant_id)).toEqual([one.tenantId, two.tenantId])
    for (const { admin } of [one, two]) await admin.delete('/contexts/fresh')
  })

  test('does not affect other tenants if a tenant changes its context, name or quota or deletes a file', async () => {
    const before = await Promise.all(
      ['/contexts/invoices', '/tenant', '/files'].map(async (path) => getData(await two.admin.get(path))),
    )
    await one.admin.patch('/contexts/invoices', { allowed_extensions: ['pdf'], status: 'disabled', metadata: { of: 'one' } })
    await one.admin.patch('/tenant', { storage_quota_mb: 1, name: 'Another name' })
    await one.admin.delete(`/files/${one.files[1]}`)
    const after = await Promise.all(
      ['/contexts/invoices', '/tenant', '/files'].map(async (path) => getData(await two.admin.get(path))),
    )
    expect(after).toEqual(before)
    expect((await two.admin.upload('invoices', 'c.txt', 'two c')).status).toBe(201)
    expect(toStatusAndCode(await one.admin.upload('invoices', 'c.txt', 'one c'))).toEqual([409, 'conflict'])
  })

  test('accepts a name that another tenant uses', async () => {
    const invite = (by: Caller, address: string) =>
      by.graphql(
        'mutation ($email: String!) { inviteUser(input: { email: $email, name: "N", scopes: [upload] }) { user { userId } } }',
        { email: address },
      )
    expect(getGraphqlCode(await invite(one.admin, 'only@example.com'))).toBeUndefined()
    expect(getGraphqlCode(await invite(two.admin, 'only@example.com'))).toBeUndefined()
    expect(getGraphqlCode(await invite(one.admin, email))).toBe('CONFLICT')
    const context = { context_key: 'only_one', display_name: 'O', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    expect((await one.admin.post('/contexts', context)).status).toBe(201)
    expect(toStatusAndCode(await two.admin.get('/contexts/only_one'))).toEqual([404, 'not_found'])
    expect((await two.admin.post('/contexts', context)).status).toBe(201)
  })

  test('accepts a signed download URL only for the file and the tenant that it was created for', async () => {
    const sign = async (by: Caller, id: string) =>
      new URL(getData(await by.get(`/files/${id}`), { timestamp: false }).download_url)
    const [own, foreign] = [await sign(one.admin, one.files[0]!), await sign(two.admin, two.files[0]!)]
    expect((await fetch(own)).status).toBe(200)
    for (const [path, query] of [
      [foreign.pathname, own.search],
      [own.pathname, foreign.search],
    ])
      expect((await fetch(`${world.url}${path}${query}`)).status).toBe(403)
  })
})
