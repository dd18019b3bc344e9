import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getGraphqlCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

const scopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const
type Scope = (typeof scopes)[number]

let world: World
let mine: TestTenant
let theirs: TestTenant
const ids = { key: '', file: '', user: '', webhook: '', share: '', link: '', context: 'secrets' }
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  mine = await world.createTenant({ name: 'Mine' })
  theirs = await world.createTenant({ name: 'Theirs' })
  await theirs.createContext('secrets', { display_name: 'Hidden name' })
  ids.key = (await theirs.createKey(['upload'], { name: 'Hidden key' })).id
  ids.file = (await theirs.admin.upload('secrets', 'hidden.txt', 'text')).body.data.file_id
  ids.webhook = (await theirs.admin.post('/webhooks', { url: 'http://127.0.0.1:9/hidden' })).body.data.webhook_id
  ids.link = (await theirs.admin.post('/upload-links', { context: ids.context })).body.data.link_id
  ids.share = (await theirs.admin.post('/log/share', {})).body.data.share_id
  const user = await theirs.createUser(['metadata'], 'hidden@example.com')
  ids.user = (await user.graphql('{ me { id } }')).body.data.me.id
})
afterAll(() => world.close())

interface Row {
  /** Scope that the root field requires. */
  needs: Scope | 'any' | 'public'
  /** Expected result if the arguments contain another tenant's ids. */
  theirs: 'unknown' | 'empty' | 'absent'
  /** Arguments and selection, in which `$key`, `$file`, `$user` and `$context` belong to the other tenant. */
  asks: string
  upload?: true
}

const page = '{ data { __typename } pagination { totalItems } }'
const edges = '{ edges { cursor } }'

// Expected access rule of each GraphQL query.
const queries: Record<string, Row> = {
  me: { needs: 'any', theirs: 'absent', asks: '{ id tenantId }' },
  mySessions: { needs: 'any', theirs: 'absent', asks: '{ data { sessionId } }' },
  userSessions: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user) { data { sessionId } }' },
  tenant: { needs: 'admin', theirs: 'absent', asks: '{ tenantId name }' },
  users: { needs: 'admin', theirs: 'absent', asks: '{ data { userId email } }' },
  apiKeys: { needs: 'admin', theirs: 'absent', asks: '{ data { apiKeyId name recentCalls { callId } } }' },
  apiKey: { needs: 'admin', theirs: 'unknown', asks: '(apiKeyId: $key) { name }' },
  contexts: { needs: 'any', theirs: 'absent', asks: '{ data { contextKey displayName } }' },
  context: { needs: 'any', theirs: 'unknown', asks: '(contextKey: $context) { displayName }' },
  contextPolicy: { needs: 'admin', theirs: 'unknown', asks: '(contextKey: $context) { acceptUnscanned }' },
  contextVersions: { needs: 'admin', theirs: 'unknown', asks: `(contextKey: $context) ${page}` },
  previewContext: { needs: 'admin', theirs: 'unknown', asks: '(contextKey: $context, input: { maxFileSizeMb: 1 }) { files }' },
  contextRescan: { needs: 'admin', theirs: 'unknown', asks: '(contextKey: $context) { status }' },
  quarantine: { needs: 'admin', theirs: 'empty', asks: `(context: $context) ${page}` },
  files: { needs: 'metadata', theirs: 'empty', asks: `(context: $context, uploadedBy: $key) ${page}` },
  filesConnection: { needs: 'metadata', theirs: 'empty', asks: `(uploadedBy: $key) ${edges}` },
  file: { needs: 'metadata', theirs: 'unknown', asks: '(fileId: $file) { originalFilename }' },
  fileValidation: { needs: 'metadata', theirs: 'unknown', asks: '(fileId: $file) { outcome }' },
  filePreview: { needs: 'download', theirs: 'unknown', asks: '(fileId: $file) { contentType }' },
  fileValidations: { needs: 'metadata', theirs: 'unknown', asks: `(fileId: $file) ${page}` },
  trash: { needs: 'delete', theirs: 'empty', asks: `(context: $context) ${page}` },
  holds: { needs: 'admin', theirs: 'empty', asks: `(context: $context) ${page}` },
  callLogs: { needs: 'metadata', theirs: 'empty', asks: `(apiKeyId: $key) ${page}` },
  callLogsConnection: { needs: 'metadata', theirs: 'empty', asks: `(apiKeyId: $key) ${edges}` },
  events: { needs: 'admin', theirs: 'absent', asks: '{ data { sequence type data } lastSequence }' },
  auditLogs: { needs: 'admin', theirs: 'empty', asks: `(entityId: $key) ${page}` },
  auditLogsConnection: { needs: 'admin', theirs: 'empty', asks: `(entityId: $key) ${edges}` },
  auditLogsOfEntity: { needs: 'admin', theirs: 'empty', asks: `(entityType: api_key, entityId: $key) ${page}` },
  stats: { needs: 'metadata', theirs: 'absent', asks: '{ storage { byContext { contextKey } } }' },
  apiCallsChart: { needs: 'metadata', theirs: 'absent', asks: '{ period }' },
  storageChart: { needs: 'metadata', theirs: 'absent', asks: '{ period }' },
  uploadsChart: { needs: 'metadata', theirs: 'absent', asks: '{ period }' },
  apiCallsByContext: { needs: 'metadata', theirs: 'absent', asks: '{ contextKey contextName }' },
  filesByContext: { needs: 'metadata', theirs: 'absent', asks: '{ contextKey contextName }' },
  // The `node` query requires the scope of the object type, in this case a file.
  node: { needs: 'metadata', theirs: 'unknown', asks: '(id: $file) { id }' },
  uploadLinks: { needs: 'upload', theirs: 'empty', asks: `(context: $context) ${page}` },
  uploadLink: { needs: 'upload', theirs: 'unknown', asks: '(linkId: $link) { status }' },
  webhooks: { needs: 'admin', theirs: 'absent', asks: '{ data { webhookId url } }' },
  webhook: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook) { url }' },
  webhookDeliveries: { needs: 'admin', theirs: 'unknown', asks: `(webhookId: $webhook) ${page}` },
  receipt: { needs: 'metadata', theirs: 'unknown', asks: '(fileId: $file) { receipt }' },
  logCheckpoint: { needs: 'admin', theirs: 'absent', asks: '{ origin size checkpoint }' },
  logShares: { needs: 'admin', theirs: 'absent', asks: '{ data { shareId createdBy } }' },
  storageHealth: { needs: 'admin', theirs: 'absent', asks: '{ countersDrift }' },
}
const mutations: Record<string, Row> = {
  restoreFile: { needs: 'delete', theirs: 'unknown', asks: '(fileId: $file) { fileId }' },
  purgeFile: { needs: 'delete', theirs: 'unknown', asks: '(fileId: $file) { fileId }' },
  holdFile: { needs: 'admin', theirs: 'unknown', asks: '(fileId: $file, reason: "x") { fileId }' },
  releaseHold: { needs: 'admin', theirs: 'unknown', asks: '(fileId: $file) { fileId }' },
  signIn: { needs: 'public', theirs: 'absent', asks: '(email: "unknown@example.com", password: "no such password") { token }' },
  signOut: { needs: 'any', theirs: 'absent', asks: '' },
  changePassword: { needs: 'any', theirs: 'absent', asks: '(currentPassword: "x", newPassword: "")' },
  inviteUser: { needs: 'admin', theirs: 'absent', asks: '(input: { email: "", name: "", scopes: [] }) { password }' },
  updateUser: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user, input: { name: "Changed" }) { name }' },
  disableUser: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user) { name }' },
  enableUser: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user) { name }' },
  endMySession: { needs: 'any', theirs: 'unknown', asks: '(sessionId: "ses_x")' },
  endUserSessions: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user)' },
  resetUserPassword: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user) { password }' },
  resetUserSecondFactor: { needs: 'admin', theirs: 'unknown', asks: '(userId: $user) { name }' },
  beginSecondFactor: { needs: 'any', theirs: 'absent', asks: '(password: "") { uri }' },
  confirmSecondFactor: { needs: 'any', theirs: 'absent', asks: '(code: "") { recoveryCodes }' },
  removeSecondFactor: { needs: 'any', theirs: 'absent', asks: '(code: "")' },
  requireSecondFactor: { needs: 'admin', theirs: 'absent', asks: '(required: false) { name }' },
  createUploadLink: { needs: 'upload', theirs: 'unknown', asks: '(input: { context: $context }) { linkId }' },
  revokeUploadLink: { needs: 'upload', theirs: 'unknown', asks: '(linkId: $link) { status }' },
  createWebhook: { needs: 'admin', theirs: 'absent', asks: '(input: { url: "" }) { secret }' },
  updateWebhook: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook, input: { status: disabled }) { url }' },
  deleteWebhook: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook) { webhookId }' },
  testWebhook: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook) { status }' },
  rotateWebhookSecret: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook) { secret }' },
  replayWebhook: { needs: 'admin', theirs: 'unknown', asks: '(webhookId: $webhook, fromSequence: 1) { url }' },
  createApiKey: { needs: 'admin', theirs: 'absent', asks: '(input: { name: "" }) { apiKeyId }' },
  enableApiKey: { needs: 'admin', theirs: 'unknown', asks: '(apiKeyId: $key) { name }' },
  disableApiKey: { needs: 'admin', theirs: 'unknown', asks: '(apiKeyId: $key) { name }' },
  revokeApiKey: { needs: 'admin', theirs: 'unknown', asks: '(apiKeyId: $key) { name }' },
  rotateApiKey: { needs: 'admin', theirs: 'unknown', asks: '(apiKeyId: $key) { name }' },
  createContext: {
    needs: 'admin',
    theirs: 'absent',
    asks: '(input: { contextKey: "", displayName: "", allowedExtensions: [], maxFileSizeMb: 1 }) { contextId }',
  },
  updateContextPolicy: {
    needs: 'admin',
    theirs: 'unknown',
    asks: '(contextKey: $context, input: { acceptUnscanned: true }) { acceptUnscanned }',
  },
  updateContext: {
    needs: 'admin',
    theirs: 'unknown',
    asks: '(contextKey: $context, input: { displayName: "Changed" }) { displayName }',
  },
  deleteContext: { needs: 'admin', theirs: 'unknown', asks: '(contextKey: $context) { contextId }' },
  rescanContext: { needs: 'admin', theirs: 'unknown', asks: '(contextKey: $context) { status }' },
  releaseFromQuarantine: { needs: 'admin', theirs: 'unknown', asks: '(fileId: $file, reason: "x") { fileId }' },
  purgeFromQuarantine: { needs: 'admin', theirs: 'unknown', asks: '(fileId: $file) { fileId }' },
  uploadFile: { needs: 'upload', theirs: 'unknown', asks: '(file: $upload, context: $context) { fileId }', upload: true },
  validateFile: { needs: 'upload', theirs: 'unknown', asks: '(file: $upload, context: $context) { outcome }', upload: true },
  createDownloadUrl: { needs: 'download', theirs: 'unknown', asks: '(fileId: $file) { downloadUrl }' },
  deleteFile: { needs: 'delete', theirs: 'unknown', asks: '(fileId: $file) { fileId }' },
  deleteFiles: { needs: 'delete', theirs: 'absent', asks: '(fileIds: []) { fileId }' },
  shareLog: { needs: 'admin', theirs: 'absent', asks: '(days: 0) { token }' },
  revokeLogShare: { needs: 'admin', theirs: 'unknown', asks: '(shareId: $share) { shareId }' },
  updateTenant: { needs: 'admin', theirs: 'absent', asks: '(input: { name: "" }) { name }' },
}
const rows = [
  ...Object.entries(queries).map((row) => ['query', ...row] as const),
  ...Object.entries(mutations).map((row) => ['mutation', ...row] as const),
]

test('lists every GraphQL root field exactly once in the access tables', async () => {
  const { body } = await mine.admin.graphql('{ __schema { queryType { fields { name } } mutationType { fields { name } } } }')
  const names = (type: { fields: { name: string }[] }) => type.fields.map(({ name }) => name).sort()
  expect(Object.keys(queries).sort()).toEqual(names(body.data.__schema.queryType))
  expect(Object.keys(mutations).sort()).toEqual(names(body.data.__schema.mutationType))
})

function callRootField(caller: Caller, kind: string, field: string, { asks, upload }: Row, given = ids): Promise<ApiResponse> {
  const filled = asks.replace(/\$(key|file|user|webhook|share|link|context)/g, (_, name: keyof typeof ids) =>
    JSON.stringify(given[name]),
  )
  if (!upload) return caller.graphql(`${kind} { ${field}${filled} }`)
  return caller.graphqlUpload(`${kind} ($file: Upload!) { ${field}${filled.replace('$upload', '$file')} }`, {}, 'a.txt', 'text')
}

describe('required scope of each root field', () => {
  const callers = new Map<string, Caller>()
  // Each row has a separate user because signOut ends the session and other fields require a password.
  const callerOf = async (kind: string, scope: Scope, field: string) => {
    if (kind === 'user' && field === 'signOut') return mine.createUser([scope])
    const name = `${kind} ${scope}`
    if (!callers.has(name)) callers.set(name, kind === 'key' ? await mine.createKey([scope]) : await mine.createUser([scope]))
    return callers.get(name)!
  }

  test.each(rows)('enforces the required scope for the GraphQL %s %s', async (kind, field, row) => {
    // Public fields are not called with each scope because sign-in attempts are rate-limited.
    for (const by of row.needs === 'public' ? [] : ['key', 'user'])
      for (const scope of scopes) {
        const answer = await callRootField(await callerOf(by, scope, field), kind, field, row)
        const code = getGraphqlCode(answer)
        const allowed = row.needs === 'any' || scope === 'admin' || scope === row.needs
        if (!allowed) {
          expect([field, by, scope, code]).toEqual([field, by, scope, 'FORBIDDEN'])
          expect(answer.body.errors[0].message).toContain(`'${row.needs}'`)
        } else if (!['changePassword', 'beginSecondFactor'].includes(field))
          expect(['UNAUTHENTICATED', 'FORBIDDEN', 'INTERNAL_SERVER_ERROR']).not.toContain(code)
      }
    const anonymous = await callRootField(world.unauthenticated, kind, field, row)
    if (field === 'me') return expect(anonymous.body).toEqual({ data: { me: null } })
    expect(getGraphqlCode(anonymous)).toBe('UNAUTHENTICATED')
  })
})

describe('tenant isolation of each root field', () => {
  const unknownIds = {
    key: 'key_00000000000000000000000000',
    file: 'file_00000000000000000000000000',
    user: 'usr_00000000000000000000000000',
    webhook: 'whk_00000000000000000000000000',
    link: 'ulk_00000000000000000000000000',
    share: 'shr_00000000000000000000000000',
    context: 'unknown',
  }
  const withoutIds = (answer: ApiResponse, given: typeof ids) =>
    Object.values(given).reduce((text, id) => text.replaceAll(id, '…'), JSON.stringify(answer.body))

  test.each(rows)("does not return another tenant's data from the GraphQL %s %s", async (kind, field, row) => {
    const answer = await callRootField(mine.admin, kind, field, row)
    if (row.theirs === 'unknown') {
      expect(getGraphqlCode(answer)).toBe('NOT_FOUND')
      expect(withoutIds(answer, ids)).toBe(withoutIds(await callRootField(mine.admin, kind, field, row, unknownIds), unknownIds))
      return
    }
    const responseText = JSON.stringify(answer.body)
    if (row.theirs === 'empty')
      expect(answer.body.data[field]).toEqual(
        row.asks.includes('edges') ? { edges: [] } : { data: [], pagination: { totalItems: 0 } },
      )
    for (const secret of [...Object.values(ids), theirs.tenantId, theirs.admin.id, 'Hidden', 'hidden', 'Theirs'])
      expect(responseText).not.toContain(secret)
  })

  test("rejects GraphQL changes to another tenant's data", async () => {
    const { body } = await theirs.admin.graphql(
      '{ tenant { name } contexts { data { displayName status } } files { data { originalFilename } } apiKeys { data { name status } } users { data { name status } } }',
    )
    expect(body.data).toEqual({
      tenant: { name: 'Theirs' },
      contexts: { data: [{ displayName: 'Hidden name', status: 'active' }] },
      files: { data: [{ originalFilename: 'hidden.txt' }] },
      apiKeys: {
        data: [
          { name: 'Hidden key', status: 'active' },
          { name: 'Admin', status: 'active' },
        ],
      },
      users: { data: [{ name: 'Ada', status: 'active' }] },
    })
  })
})
