import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, createApp } from '../../src/app.js'
import { createSystemActor } from '../../src/platform/actor.js'
import { type Config, readConfig } from '../../src/platform/config/config.js'
import { createDatabase, type Database } from '../../src/platform/db/client.js'
import { CapturedLog } from './captured-log.js'
import { createTestDatabase } from './database.js'
import { findFreePort } from './free-port.js'

/** An API response with its parsed body. */
export interface ApiResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  body: any
}

/** A client that authenticates with an API key, a session token, or not at all. */
export class Caller {
  constructor(
    readonly url: string,
    readonly credential: string | undefined,
    /** Id of the API key, if any. */
    readonly id = '',
  ) {}

  get = (path: string, headers: Record<string, string> = {}) => this.rest('GET', path, undefined, headers)
  post = (path: string, body?: unknown, headers: Record<string, string> = {}) => this.rest('POST', path, body, headers)
  patch = (path: string, body: unknown, headers: Record<string, string> = {}) => this.rest('PATCH', path, body, headers)
  delete = (path: string, headers: Record<string, string> = {}) => this.rest('DELETE', path, undefined, headers)

  /** Sends a request to a path below /api/v1. */
  async rest(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    const json = body !== undefined && !(body instanceof FormData) && typeof body !== 'string'
    return this.raw(`/api/v1${path}`, {
      method,
      headers: { ...(json && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: json ? JSON.stringify(body) : (body as string | FormData) }),
    })
  }

  async raw(path: string, init: RequestInit = {}): Promise<ApiResponse> {
    const headers = new Headers(init.headers)
    if (this.credential !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${this.credential}`)
    const response = await fetch(this.url + path, { ...init, headers })
    const text = await response.text()
    const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }

  /** Calls POST /files/upload. A null `name` omits the file. */
  upload(
    context: string | undefined,
    name: string,
    content: Uint8Array | string,
    more: { metadata?: unknown; headers?: Record<string, string>; path?: string } = {},
  ): Promise<ApiResponse> {
    const form = new FormData()
    if (context !== undefined) form.append('context', context)
    if (more.metadata !== undefined)
      form.append('metadata', typeof more.metadata === 'string' ? more.metadata : JSON.stringify(more.metadata))
    form.append('file', new Blob([content as string]), name)
    return this.rest('POST', more.path ?? '/files/upload', form, more.headers)
  }

  /** Sends a GraphQL request and returns the complete response. */
  graphql(query: string, variables: Record<string, unknown> = {}): Promise<ApiResponse> {
    return this.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
  }

  /** Sends a mutation with one file (GraphQL multipart request specification). */
  graphqlUpload(
    query: string,
    variables: Record<string, unknown>,
    name: string,
    content: Uint8Array | string,
  ): Promise<ApiResponse> {
    const form = new FormData()
    form.append('operations', JSON.stringify({ query, variables: { ...variables, file: null } }))
    form.append('map', JSON.stringify({ 0: ['variables.file'] }))
    form.append('0', new Blob([content as string]), name)
    return this.raw('/graphql', { method: 'POST', headers: { 'apollo-require-preflight': 'true' }, body: form })
  }
}

/** A tenant with its admin key. */
export interface TestTenant {
  tenantId: string
  name: string
  admin: Caller
  createKey(scopes: string[], more?: Record<string, unknown>): Promise<Caller>
  /** Creates a context that accepts txt, csv, json, png and pdf files up to 5 MB by default. */
  createContext(contextKey: string, more?: Record<string, unknown>): Promise<Record<string, unknown>>
  /** Creates and signs in a dashboard user with these scopes. */
  createUser(scopes: string[], email?: string): Promise<Caller & { email: string; password: string }>
}

/** The real application, listening, with a real PostgreSQL. */
export class World {
  private constructor(
    readonly app: App,
    readonly url: string,
    readonly database: Database,
    readonly databaseUrl: string,
    readonly dataDir: string,
    readonly log: CapturedLog,
    readonly config: Config,
    private readonly owned: boolean,
  ) {}

  /** `env` overrides the defaults. `shared` starts a second application on the first one's database and folder. */
  static async open(env: Record<string, string> = {}, shared?: World): Promise<World> {
    const dataDir = shared?.dataDir ?? (await mkdtemp(join(tmpdir(), 'assay-world-')))
    const databaseUrl = env.DATABASE_URL ?? shared?.databaseUrl ?? (await createTestDatabase()).url
    const masterKey = shared?.config.masterKey?.toString('base64') ?? randomBytes(32).toString('base64')
    // Signed URLs of local downloads contain the port, so the port must be known in advance.
    const port = Number(await findFreePort())
    const config = readConfig({
      HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      MASTER_KEY: masterKey,
      SCANNER_URL: 'yara:',
      STORAGE_URL: `file://${dataDir}/blobs`,
      RECONCILE_INTERVAL_HOURS: '0',
      DATABASE_POOL_SIZE: '6',
      ...env,
    })
    const log = new CapturedLog()
    const database = createDatabase(databaseUrl, {
      poolSize: config.databasePoolSize,
      logger: log.logger,
      ...(config.databaseDirectUrl && { directUrl: config.databaseDirectUrl }),
      readUrl: config.databaseReadUrl,
    })
    const app = await createApp({ config, database, databaseUrl: config.databaseDirectUrl ?? databaseUrl, logger: log.logger })
    app.httpServer.listen(port, '127.0.0.1')
    await once(app.httpServer, 'listening').catch(async (error) => {
      await Promise.all([app.close(), database.close()])
      throw error
    })
    return new World(app, `http://127.0.0.1:${port}`, database, databaseUrl, dataDir, log, config, !shared)
  }

  get unauthenticated(): Caller {
    return new Caller(this.url, undefined)
  }

  get firstAdmin(): Caller {
    return new Caller(this.url, this.app.firstRun?.apiKey)
  }

  createCaller(credential: string | undefined): Caller {
    return new Caller(this.url, credential)
  }

  async createTenant(options: { name?: string; quotaMb?: number } = {}): Promise<TestTenant> {
    const { tenants, apiKeys } = this.app.services
    const name = options.name ?? `Tenant ${randomBytes(3).toString('hex')}`
    const { tenantId } = await tenants.create({ name, ...(options.quotaMb && { quotaMb: options.quotaMb }) })
    const created = await apiKeys.create(createSystemActor(tenantId), {
      name: 'Admin',
      scopes: ['upload', 'download', 'metadata', 'delete', 'admin'],
    })
    const admin = new Caller(this.url, created.apiKey, created.apiKeyId)
    return {
      tenantId,
      name,
      admin,
      createKey: async (scopes, more = {}) => {
        const { status, body } = await admin.post('/api-keys', { name: scopes.join('+') || 'key', scopes, ...more })
        if (status !== 201) throw new Error(JSON.stringify(body))
        return new Caller(this.url, body.data.api_key, body.data.api_key_id)
      },
      createContext: async (contextKey, more = {}) => {
        const { status, body } = await admin.post('/contexts', {
          context_key: contextKey,
          display_name: contextKey,
          allowed_extensions: ['txt', 'csv', 'json', 'png', 'pdf'],
          max_file_size_mb: 5,
          ...more,
        })
        if (status !== 201) throw new Error(JSON.stringify(body))
        return body.data
      },
      createUser: async (scopes, email = `user-${randomBytes(4).toString('hex')}@example.com`) => {
        const { users } = this.app.services
        const password = randomBytes(9).toString('base64url')
        await users.create(createSystemActor(tenantId), { email, name: 'Ada', scopes: scopes as never, password })
        const { body } = await this.unauthenticated.graphql(
          'mutation ($email: String!, $password: String!, $tenantId: ID) { signIn(email: $email, password: $password, tenantId: $tenantId) { token } }',
          { email, password, tenantId },
        )
        return Object.assign(new Caller(this.url, body.data.signIn.token), { email, password })
      },
    }
  }

  async close(): Promise<void> {
    this.app.httpServer.closeAllConnections()
    await new Promise((resolve) => this.app.httpServer.close(resolve))
    await this.app.close()
    await this.database.close()
    if (this.owned) await rm(this.dataDir, { recursive: true, force: true })
  }
}
