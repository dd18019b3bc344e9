import { randomBytes } from 'node:crypto'
import { expect } from '@jest/globals'
import pg from 'pg'
import { countCounterErrors } from '../../src/features/maintenance/counter-drift.js'
import { currentUsage, usageColumns } from '../../src/ledger/counters.js'
import type { CallRow, Entry, Operation } from '../../src/ledger/entry.js'
import { Ledger } from '../../src/ledger/ledger.js'
import { ensurePartitions } from '../../src/ledger/partitions.js'
import type { Actor } from '../../src/platform/actor.js'
import { createDatabase, type Database } from '../../src/platform/db/client.js'
import { getFirstId, getIdTime, newId } from '../../src/platform/ids.js'
import { createTestDatabase } from './database.js'

const silent = { warn: () => {} }

/** A tenant whose API key and contexts are inserted as rows, with ledgers that record calls without HTTP. */
export class LedgerFixture {
  private readonly databases: Database[] = []

  private constructor(
    readonly url: string,
    readonly database: Database,
    readonly tenantId: string,
    readonly key: Actor,
  ) {
    this.databases.push(database)
  }

  static async open({ quotaMb = 1000, url: ownUrl }: { quotaMb?: number; url?: string } = {}): Promise<LedgerFixture> {
    const url = ownUrl ?? (await createTestDatabase()).url
    const database = createDatabase(url, { poolSize: 4, logger: silent })
    await ensurePartitions(database.pool)
    const tenantId = newId('ten')
    const books = new LedgerFixture(url, database, tenantId, createActor(tenantId, newId('key')))
    await database.pool.query(
      'INSERT INTO tenants (tenant_id, name, storage_quota_mb, created_at, updated_at) VALUES ($1, $2, $3, now(), now())',
      [tenantId, 'Ledger fixture', quotaMb],
    )
    await database.pool.query('INSERT INTO tenant_heads (tenant_id) VALUES ($1)', [tenantId])
    await books.addKey(books.key.id)
    return books
  }

  /** Opens a ledger with its own pool, as another replica would. */
  createLedger(options: ConstructorParameters<typeof Ledger>[1] & { poolSize?: number } = {}): Ledger {
    const database = createDatabase(this.url, { poolSize: options.poolSize ?? 4, logger: silent })
    this.databases.push(database)
    return new Ledger(database, options)
  }

  async addKey(apiKeyId = newId('key')): Promise<Actor> {
    await this.database.pool.query(
      `INSERT INTO api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, created_by, created_at, updated_at) VALUES ($1, $2, 'Key', 'x', $3, 'system', now(), now())`,
      [apiKeyId, this.tenantId, randomBytes(32)],
    )
    return createActor(this.tenantId, apiKeyId)
  }

  async createContext(contextKey: string, quotaMb = 1000): Promise<{ contextId: string; contextKey: string; rulesAt: Date }> {
    const contextId = newId('ctx')
    const rulesAt = new Date()
    await this.database.pool.query(
      `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, storage_quota_mb, created_at, updated_at)
       VALUES ($1, $2, $3, $3, '{txt}', 1000, $4, now() - interval '2 years', $5)`,
      [contextId, this.tenantId, contextKey, quotaMb, rulesAt],
    )
    await this.insertTotal(contextId)
    return { contextId, contextKey, rulesAt }
  }

  private insertTotal(contextId: string) {
    return this.database.pool.query(`INSERT INTO file_totals (tenant_id, context_id) VALUES ($1, $2)`, [this.tenantId, contextId])
  }

  createCall(operation: Operation, more: Partial<CallRow> = {}): CallRow {
    return {
      tenantId: this.tenantId,
      apiKeyId: this.key.id,
      apiKeyName: 'Key',
      operation,
      status: 'success',
      fileId: null,
      contextId: null,
      contextKey: null,
      errorCode: null,
      errorMessage: null,
      validation: null,
      ipAddress: '127.0.0.1',
      userAgent: 'test',
      ...more,
    }
  }

  /** Builds an upload as the service commits it, with its path in the garbage journal. */
  async createUpload(
    context: { contextId: string; contextKey: string; rulesAt: Date },
    sizeBytes: number,
    actor = this.key,
  ): Promise<Entry> {
    return (await this.createUploads(context, [sizeBytes], actor))[0]!
  }

  /** Builds many uploads in one statement because concurrent statements would wait for connections. */
  async createUploads(
    context: { contextId: string; contextKey: string; rulesAt: Date },
    sizes: number[],
    actor = this.key,
  ): Promise<Entry[]> {
    const entries = sizes.map((size) => this.#createUploadEntry(context, size, actor))
    await this.database.pool.query(
      `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT $1, path, now() + interval '1 hour' FROM unnest($2::text[]) path`,
      [this.tenantId, entries.map(({ upload }) => upload!.file.blobPath)],
    )
    return entries
  }

  #createUploadEntry(context: { contextId: string; contextKey: string; rulesAt: Date }, sizeBytes: number, actor: Actor): Entry {
    const fileId = newId('file')
    const file = {
      ...context,
      fileId,
      tenantId: this.tenantId,
      originalFilename: 'a.txt',
      contentType: 'text/plain',
      sizeBytes,
      checksum: '0'.repeat(64),
      blobPath: `${this.tenantId}/${fileId}`,
      metadata: {},
      validation: { outcome: 'accepted' },
      rulesVersion: 1,
      createdAt: getIdTime(fileId),
    }
    return { call: this.createCall('upload', { apiKeyId: actor.id, fileId, ...context }), upload: { actor, file } }
  }

  createDeletion(upload: Entry): Entry {
    const { file } = upload.upload!
    return {
      call: this.createCall('delete', { fileId: file.fileId, contextId: file.contextId, contextKey: file.contextKey }),
      deletion: { actor: this.key, file },
    }
  }

  createDownload(upload: Entry, actor = this.key): Entry {
    const { file } = upload.upload!
    const call = this.createCall('download', { fileId: file.fileId, contextId: file.contextId, contextKey: file.contextKey })
    return {
      ...(actor.kind === 'api_key' && { call: { ...call, apiKeyId: actor.id } }),
      download: { tenantId: this.tenantId, fileId: file.fileId, contextId: file.contextId, sizeBytes: file.sizeBytes },
    }
  }

  async queryRows<T>(sql: string, values: unknown[] = []): Promise<T[]> {
    return (await this.database.pool.query(sql, values)).rows as T[]
  }

  async getStoredTotals(contextId = ''): Promise<{ files: number; bytes: number }> {
    const [row] = await this.queryRows<{ files: number; bytes: number }>(
      `SELECT files, bytes FROM file_totals WHERE tenant_id = $1 AND context_id = $2
       UNION ALL SELECT files, bytes FROM tenant_heads WHERE tenant_id = $1 AND $2 = ''`,
      [this.tenantId, contextId],
    )
    return row!
  }

  /** Compares counters with the service's recount and with an independent recount. */
  async expectExact(): Promise<void> {
    await expectExact(this.url)
  }

  async close(): Promise<void> {
    await Promise.all(this.databases.map((database) => database.close()))
  }
}

/** Throws if a counter differs from a recount of the rows. */
export async function expectExact(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    expect(await countCounterErrors(client, { tenantId: null, callsSince: null })).toBe(0)
    expect((await client.query(independentRecount)).rows).toEqual([])
  } finally {
    await client.end()
  }
}

// Counts calls by tenant, subject and hour, and reports differences from the counter rows by name.
const independentRecount = `
WITH calls AS (
  SELECT l.tenant_id, l.api_key_id, c.context_id, l.operation || '_' || l.status AS what, date_trunc('hour', l.created_at, 'UTC') AS hour
  FROM call_logs l LEFT JOIN file_contexts c ON c.tenant_id = l.tenant_id AND c.context_key = l.context_key AND c.created_at <= l.created_at),
facts AS (
  SELECT tenant_id, '' AS subject, what, hour FROM calls
  UNION ALL SELECT tenant_id, api_key_id, what, hour FROM calls
  UNION ALL SELECT tenant_id, context_id, what, hour FROM calls WHERE context_id IS NOT NULL),
counted AS (SELECT tenant_id, subject, what, hour, count(*) AS calls FROM facts GROUP BY 1, 2, 3, 4),
kept AS (
  SELECT u.tenant_id, u.subject, v.what, u.bucket AS hour, v.calls FROM (SELECT tenant_id, subject, grain, bucket, ${usageColumns.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')} FROM ${currentUsage} n GROUP BY 1, 2, 3, 4) u
  CROSS JOIN LATERAL (VALUES ('upload_success', upload_success), ('upload_failure', upload_failure), ('download_success', download_success), ('download_failure', download_failure),
    ('metadata_success', metadata_success), ('metadata_failure', metadata_failure), ('delete_success', delete_success), ('delete_failure', delete_failure)) AS v(what, calls)
  WHERE u.grain = 'hour' AND v.calls <> 0 AND (u.subject NOT LIKE 'ctx_%' OR EXISTS (SELECT 1 FROM file_contexts c WHERE c.context_id = u.subject)))
SELECT * FROM counted c FULL JOIN kept k USING (tenant_id, subject, what, hour) WHERE c.calls IS DISTINCT FROM k.calls`

export const createActor = (tenantId: string, id: string, kind: Actor['kind'] = 'api_key'): Actor => ({
  tenantId,
  kind,
  id,
  name: 'Key',
  email: kind === 'user' ? 'ada@example.com' : null,
  scopes: ['admin'],
  contexts: null,
  ip: '127.0.0.1',
  userAgent: 'test',
})

export interface SeededCall {
  at: Date
  apiKeyId: string
  operation: Operation
  status: 'success' | 'failure'
}

/** Inserts past call rows with their partitions and counters. */
export async function seedCalls(url: string, tenantId: string, calls: readonly SeededCall[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const database = createDatabase(url, { poolSize: 2, logger: silent })
    const months = [...new Set(calls.map(({ at }) => Date.UTC(at.getUTCFullYear(), at.getUTCMonth())))]
    await ensurePartitions(
      database.pool,
      months.map((month) => new Date(month)),
    ).finally(() => database.close())
    await client.query(
      `INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, ip_address, user_agent, created_at)
       SELECT id, $1, key, 'Key', op, st, '127.0.0.1', 'seed', at FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS s(id, key, op, st, at)`,
      [
        tenantId,
        calls.map(({ at }) => getFirstId('call', at).slice(0, -10) + newId('call').slice(-10)),
        calls.map(({ apiKeyId }) => apiKeyId),
        calls.map(({ operation }) => operation),
        calls.map(({ status }) => status),
        calls.map(({ at }) => at),
      ],
    )
    await client.query(countSeeded, [tenantId])
  } finally {
    await client.end()
  }
}

// Sets the counters for a tenant that has none.
const countSeeded = `
INSERT INTO usage_counters (tenant_id, subject, grain, bucket, upload_success, upload_failure, download_success, download_failure, metadata_success, metadata_failure, delete_success, delete_failure)
SELECT tenant_id, subject, grain, bucket, ${['upload', 'download', 'metadata', 'delete']
  .flatMap((operation) =>
    ['success', 'failure'].map((status) => `count(*) FILTER (WHERE operation = '${operation}' AND status = '${status}')`),
  )
  .join(', ')}
FROM call_logs CROSS JOIN LATERAL (VALUES (''), (api_key_id)) AS s(subject)
CROSS JOIN LATERAL (VALUES ('hour', date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) AS g(grain, bucket)
WHERE tenant_id = $1 GROUP BY 1, 2, 3, 4`
