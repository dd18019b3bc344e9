import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/api/rest/routes.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { Tus, tusHeaders } from '../support/tus.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let mine: TestTenant
let theirs: TestTenant
const ids = { key: '', file: '', upload: '', webhook: '', context: 'secrets', tenant: '', call: '', share: '', link: '' }
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  mine = await world.createTenant({ name: 'Mine' })
  theirs = await world.createTenant({ name: 'Theirs' })
  await theirs.createContext('secrets', { display_name: 'Hidden name' })
  ids.key = (await theirs.createKey(['upload'], { name: 'Hidden key' })).id
  ids.file = (await theirs.admin.upload('secrets', 'hidden.txt', 'text')).body.data.file_id
  ids.upload = (await new Tus(theirs.admin).begin('secrets', 'hidden.txt', 4)).split('/').at(-1)!
  ids.webhook = (await theirs.admin.post('/webhooks', { url: 'http://127.0.0.1:9/hidden' })).body.data.webhook_id
  ids.tenant = theirs.tenantId
  ids.call = (await theirs.admin.get('/stats/logs?operation=upload')).body.data.data[0].call_id
  ids.link = (await theirs.admin.post('/upload-links', { context: ids.context })).body.data.link_id
  ids.share = (await theirs.admin.post('/log/share', {})).body.data.share_id
})
afterAll(() => world.close())

const scopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const
type Scope = (typeof scopes)[number]

interface Row {
  /** Scope that the route requires. */
  needs: Scope | 'any'
  /** Expected result if a request contains another tenant's ids. */
  theirs: 'unknown' | 'empty' | 'absent'
  /** Builds a request with another tenant's ids in its path, query or body. */
  path?: () => string
  body?: () => unknown
  headers?: () => Record<string, string>
}

const upload = () => {
  const form = new FormData()
  form.append('context', ids.context)
  form.append('file', new Blob(['text']), 'a.txt')
  return form
}

// Expected access rule of each documented REST route.
const table: Record<string, Row> = {
  'POST /api-keys': { needs: 'admin', theirs: 'absent', body: () => ({}) },
  'GET /api-keys': { needs: 'admin', theirs: 'absent' },
  'GET /api-keys/{api_key_id}': { needs: 'admin', theirs: 'unknown' },
  'POST /api-keys/{api_key_id}/enable': { needs: 'admin', theirs: 'unknown' },
  'POST /api-keys/{api_key_id}/disable': { needs: 'admin', theirs: 'unknown' },
  'POST /api-keys/{api_key_id}/revoke': { needs: 'admin', theirs: 'unknown' },
  'POST /api-keys/{api_key_id}/rotate': { needs: 'admin', theirs: 'unknown' },
  'POST /contexts': { needs: 'admin', theirs: 'absent', body: () => ({}) },
  'GET /contexts': { needs: 'any', theirs: 'absent' },
  'GET /contexts/{context_key}': { needs: 'any', theirs: 'unknown' },
  'PATCH /contexts/{context_key}': { needs: 'admin', theirs: 'unknown', body: () => ({ display_name: 'x' }) },
  'GET /contexts/{context_key}/policy': { needs: 'admin', theirs: 'unknown' },
  'PATCH /contexts/{context_key}/policy': { needs: 'admin', theirs: 'unknown', body: () => ({ accept_unscanned: true }) },
  'GET /contexts/{context_key}/versions': { needs: 'admin', theirs: 'unknown' },
  'POST /contexts/{context_key}/preview': { needs: 'admin', theirs: 'unknown', body: () => ({ max_file_size_mb: 1 }) },
  'POST /contexts/{context_key}/rescan': { needs: 'admin', theirs: 'unknown' },
  'GET /contexts/{context_key}/rescan': { needs: 'admin', theirs: 'unknown' },
  'DELETE /contexts/{context_key}': { needs: 'admin', theirs: 'unknown' },
  'POST /files/upload': { needs: 'upload', theirs: 'unknown', body: upload },
  'POST /files/validate': { needs: 'upload', theirs: 'unknown', body: upload },
  'GET /files': { needs: 'metadata', theirs: 'empty', path: () => `/files?context=${ids.context}&uploaded_by=${ids.key}` },
  'GET /files/{file_id}': { needs: 'download', theirs: 'unknown' },
  'DELETE /files/{file_id}': { needs: 'delete', theirs: 'unknown' },
  'POST /files/delete': { needs: 'delete', theirs: 'absent', body: () => ({ file_ids: [] }) },
  'GET /files/{file_id}/metadata': { needs: 'metadata', theirs: 'unknown' },
  'GET /files/{file_id}/validation': { needs: 'metadata', theirs: 'unknown' },
  'GET /files/{file_id}/preview': { needs: 'download', theirs: 'unknown' },
  'GET /files/{file_id}/validations': { needs: 'metadata', theirs: 'unknown' },
  'GET /quarantine': { needs: 'admin', theirs: 'empty', path: () => `/quarantine?context=${ids.context}` },
  'POST /quarantine/{file_id}/release': { needs: 'admin', theirs: 'unknown', body: () => ({ reason: 'x' }) },
  'DELETE /quarantine/{file_id}': { needs: 'admin', theirs: 'unknown' },
  'GET /files/{file_id}/receipt': { needs: 'metadata', theirs: 'unknown' },
  'GET /calls/{call_id}/receipt': { needs: 'metadata', theirs: 'unknown' },
  'GET /log/checkpoint': { needs: 'admin', theirs: 'absent' },
  'GET /log/key': { needs: 'admin', theirs: 'absent' },
  'GET /log/tile/{tile}': { needs: 'admin', theirs: 'absent', path: () => '/log/tile/0/000.p/1' },
  'POST /log/share': { needs: 'admin', theirs: 'absent', body: () => ({}) },
  'GET /log/shares': { needs: 'admin', theirs: 'absent' },
  'DELETE /log/shares/{share_id}': { needs: 'admin', theirs: 'unknown' },
  'PUT /files/{file_id}/hold': { needs: 'admin', theirs: 'unknown', body: () => ({ reason: 'x' }) },
  'DELETE /files/{file_id}/hold': { needs: 'admin', theirs: 'unknown' },
  'GET /holds': { needs: 'admin', theirs: 'empty', path: () => `/holds?context=${ids.context}` },
  'GET /trash': { needs: 'delete', theirs: 'empty', path: () => `/trash?context=${ids.context}` },
  'POST /trash/{file_id}/restore': { needs: 'delete', theirs: 'unknown' },
  'DELETE /trash/{file_id}': { needs: 'delete', theirs: 'unknown' },
  'POST /upload-links': { needs: 'upload', theirs: 'unknown', body: () => ({ context: ids.context }) },
  'GET /upload-links': { needs: 'upload', theirs: 'empty', path: () => `/upload-links?context=${ids.context}` },
  'GET /upload-links/{link_id}': { needs: 'upload', theirs: 'unknown' },
  'DELETE /upload-links/{link_id}': { needs: 'upload', theirs: 'unknown' },
  'GET /stats': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/charts/api-calls': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/charts/storage': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/charts/uploads': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/by-context/api-calls': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/by-context/files': { needs: 'metadata', theirs: 'absent' },
  'GET /stats/logs': { needs: 'metadata', theirs: 'empty', path: () => `/stats/logs?api_key_id=${ids.key}` },
  'GET /events': { needs: 'admin', theirs: 'absent' },
  'GET /audit-logs': { needs: 'admin', theirs: 'empty', path: () => `/audit-logs?entity_id=${ids.key}` },
  'GET /audit-logs/entity/{entity_type}/{entity_id}': {
    needs: 'admin',
    theirs: 'empty',
    path: () => `/audit-logs/entity/api_key/${ids.key}`,
  },
  'GET /stats/logs/export': {
    needs: 'metadata',
    theirs: 'absent',
    path: () => `/stats/logs/export?format=ndjson&api_key_id=${ids.key}`,
  },
  'GET /audit-logs/export': {
    needs: 'admin',
    theirs: 'absent',
    path: () => `/audit-logs/export?format=csv&entity_id=${ids.file}`,
  },
  'GET /tenant': { needs: 'admin', theirs: 'absent' },
  'PATCH /tenant': { needs: 'admin', theirs: 'absent', body: () => ({}) },
  'POST /webhooks': { needs: 'admin', theirs: 'absent', body: () => ({}) },
  'GET /webhooks': { needs: 'admin', theirs: 'absent' },
  'GET /webhooks/{webhook_id}': { needs: 'admin', theirs: 'unknown' },
  'PATCH /webhooks/{webhook_id}': { needs: 'admin', theirs: 'unknown', body: () => ({ status: 'disabled' }) },
  'DELETE /webhooks/{webhook_id}': { needs: 'admin', theirs: 'unknown' },
  'POST /webhooks/{webhook_id}/test': { needs: 'admin', theirs: 'unknown' },
  'POST /webhooks/{webhook_id}/rotate-secret': { needs: 'admin', theirs: 'unknown' },
  'GET /webhooks/{webhook_id}/deliveries': { needs: 'admin', theirs: 'unknown' },
  'POST /webhooks/{webhook_id}/replay': { needs: 'admin', theirs: 'unknown', body: () => ({ from_sequence: 1 }) },
}

// Routes for the tus protocol, which the OpenAPI document does not describe.
const uploads: Record<string, Row> = {
  'POST /uploads': { needs: 'upload', theirs: 'unknown', headers: () => tusHeaders.creation(ids.context) },
  'GET /uploads/{upload_id}': { needs: 'upload', theirs: 'unknown' },
  'PATCH /uploads/{upload_id}': { needs: 'upload', theirs: 'unknown', headers: () => tusHeaders.bytes, body: () => 'text' },
  'DELETE /uploads/{upload_id}': { needs: 'upload', theirs: 'unknown', headers: () => tusHeaders.any },
}

test('lists every documented route exactly once in the access table', async () => {
  const documented = (await world.unauthenticated.raw('/api/v1/openapi.json')).body.paths as Record<string, object>
  // Upload links are excluded because their token is the only credential and scopes do not apply.
  const withScopes = Object.entries(documented).filter(([path]) => path.startsWith('/api/v1'))
  const endpoints = withScopes.flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => `${method.toUpperCase()} ${path.replace(/^\/api\/v1/, '')}`),
  )
  const names = new Set([...routes.map(({ method, path }) => `${method} ${path}`), ...endpoints])
  expect(Object.keys(table).sort()).toEqual([...names].sort())
})

const rows = Object.entries({ ...table, ...uploads })
const parameters: Record<string, keyof typeof ids> = {
  api_key_id: 'key',
  file_id: 'file',
  upload_id: 'upload',
  webhook_id: 'webhook',
  call_id: 'call',
  share_id: 'share',
  link_id: 'link',
  context_key: 'context',
}
const fill = (path: string, given = ids) =>
  path
    .replace('{entity_type}/{entity_id}', `api_key/${given.key}`)
    .replaceAll(/\{(\w+)\}/g, (all, name: string) => (parameters[name] ? given[parameters[name]] : all))

function call(caller: Caller, route: string, row: Row): Promise<ApiResponse> {
  const [method, path] = route.split(' ') as [string, string]
  return caller.rest(method, row.path?.() ?? fill(path), row.body?.(), row.headers?.())
}

describe('required scope of each route', () => {
  const callers = new Map<string, Caller>()
  beforeAll(async () => {
    for (const scope of scopes) {
      callers.set(`key ${scope}`, await mine.createKey([scope]))
      callers.set(`user ${scope}`, await mine.createUser([scope]))
    }
  })

  test.each(rows)('enforces the required scope for %s', async (route, row) => {
    for (const kind of ['key', 'user'])
      for (const scope of scopes) {
        const answer = await call(callers.get(`${kind} ${scope}`)!, route, row)
        const allowed = row.needs === 'any' || scope === 'admin' || scope === row.needs
        if (allowed) expect([401, 403, 500, 503]).not.toContain(answer.status)
        else {
          expect([route, kind, scope, ...toStatusAndCode(answer)]).toEqual([route, kind, scope, 403, 'forbidden'])
          expect(answer.body.message).toContain(`'${row.needs}'`)
        }
      }
    expect(toStatusAndCode(await call(world.unauthenticated, route, row))).toEqual([401, 'unauthenticated'])
    expect(toStatusAndCode(await call(world.createCaller(`assay_${'x'.repeat(43)}`), route, row))).toEqual([
      401,
      'unauthenticated',
    ])
  })
})

describe('tenant isolation of each route', () => {
  const hidden = () => [ids.key, ids.file, ids.tenant, theirs.admin.id, 'Hidden', 'Theirs']
  const withoutIds = (answer: ApiResponse, id: string) => {
    const { request_id, timestamp, ...body } = answer.body
    return [answer.status, JSON.stringify(body).replaceAll(id, '…')]
  }

  test.each(rows)("does not return another tenant's data from %s", async (route, row) => {
    const answer = await call(mine.admin, route, row)
    const responseText = JSON.stringify(answer.body)
    if (row.theirs === 'unknown') {
      expect(toStatusAndCode(answer)).toEqual([404, 'not_found'])
      // The response to another tenant's id must equal the response to an unknown id.
      const [method, path] = route.split(' ') as [string, string]
      const unknownIds = {
        key: 'key_00000000000000000000000000',
        file: 'file_00000000000000000000000000',
        upload: 'upl_00000000000000000000000000',
        webhook: 'whk_00000000000000000000000000',
        context: 'unknown',
        tenant: '',
        call: 'call_00000000000000000000000000',
        share: 'shr_00000000000000000000000000',
        link: 'ulk_00000000000000000000000000',
      }
      const keep = { ...ids }
      Object.assign(ids, unknownIds)
      const unknown = await mine.admin.rest(method, fill(path, unknownIds), row.body?.(), row.headers?.())
      Object.assign(ids, keep)
      const id = (from: typeof ids) => from[parameters[/\{(\w+)\}/.exec(path)?.[1] ?? ''] ?? 'context']
      expect(withoutIds(answer, id(ids))).toEqual(withoutIds(unknown, id(unknownIds)))
      return
    }
    if (row.theirs === 'empty') {
      expect(answer.status).toBe(200)
      expect(answer.body.data).toMatchObject({ data: [], pagination: { total_items: 0 } })
    }
    for (const secret of hidden()) expect(responseText).not.toContain(secret)
  })

  test("rejects REST changes to another tenant's data", async () => {
    expect((await theirs.admin.get(`/api-keys/${ids.key}`)).body.data).toMatchObject({ name: 'Hidden key', status: 'active' })
    expect((await theirs.admin.get('/contexts/secrets')).body.data).toMatchObject({
      display_name: 'Hidden name',
      status: 'active',
    })
    expect((await theirs.admin.get('/files')).body.data.pagination.total_items).toBe(1)
    expect((await theirs.admin.get('/tenant')).body.data.name).toBe('Theirs')
  })
})
