import type { ClientBase, Pool } from 'pg'
import type { Entry, UploadedFile } from '../../ledger/entry.js'
import { foldTenants } from '../../ledger/fold.js'
import { createMoveStatement } from '../../ledger/move-lane.js'
import type { Rejection } from '../../ledger/rejections.js'
import { createSystemActor } from '../../platform/actor.js'
import { withConnection } from '../../platform/db/queries.js'
import { newId } from '../../platform/ids.js'
import { FileList } from './file-list.js'

/** Kinds of SQL statements, in the order in which the self-test runs them. */
export type StatementKind = 'create' | 'upload' | 'list' | 'fold' | 'delete'

export class SelfTestError extends Error {
  override readonly name = 'SelfTestError'
  constructor(
    readonly kind: StatementKind,
    cause: unknown,
  ) {
    super(`The SQL statements for '${kind}' failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Detects a database, such as a damaged cluster, that accepts connections but rejects the service's main SQL statements. */
export class SelfTest {
  #hasPassed = false

  constructor(
    private readonly pool: Pool,
    private readonly onFailed: (error: SelfTestError) => void,
  ) {}

  /**
   * Runs the self-test, unless it has already succeeded. Returns the kind of statement that failed, or undefined if all
   * statements succeeded.
   */
  async findFailure(): Promise<StatementKind | undefined> {
    if (this.#hasPassed) return undefined
    try {
      await withConnection(this.pool, runSelfTest)
      this.#hasPassed = true
      return undefined
    } catch (error) {
      if (!(error instanceof SelfTestError)) throw error
      this.onFailed(error)
      return error.kind
    }
  }
}

/** Uploads, lists, counts and deletes a file in a transaction that is rolled back. Throws `SelfTestError`. */
export async function runSelfTest(client: ClientBase): Promise<void> {
  await client.query('BEGIN')
  try {
    const file = await runStatements('create', () => prepareTestFile(client))
    await runStatements('upload', () => commitEntry(client, file.tenantId, toUploadEntry(file)))
    await runStatements('list', () => testFileList(client, file))
    await runStatements('fold', () => testFold(client, file.tenantId))
    await runStatements('delete', () =>
      commitEntry(client, file.tenantId, { deletion: { actor: createSystemActor(file.tenantId), file } }),
    )
  } finally {
    await client.query('ROLLBACK')
  }
}

async function runStatements<T>(kind: StatementKind, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new SelfTestError(kind, error)
  }
}

async function prepareTestFile(client: ClientBase): Promise<UploadedFile> {
  const [tenantId, contextId, fileId] = [newId('ten'), newId('ctx'), newId('file')]
  const blobPath = `${tenantId}/self-test/${fileId}`
  await client.query(`INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, 'Self-test', now(), now())`, [
    tenantId,
  ])
  await client.query('INSERT INTO tenant_heads (tenant_id) VALUES ($1)', [tenantId])
  const { rows } = await client.query<{ updated_at: Date }>(
    `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at)
     VALUES ($2, $1, 'self_test', 'Self-test', '{txt}', 1, now(), now()) RETURNING updated_at`,
    [tenantId, contextId],
  )
  await client.query('INSERT INTO file_totals (tenant_id, context_id) VALUES ($1, $2)', [tenantId, contextId])
  await client.query('INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES ($1, $2, now())', [tenantId, blobPath])
  return {
    fileId,
    tenantId,
    contextId,
    contextKey: 'self_test',
    originalFilename: 'self-test.txt',
    contentType: 'text/plain',
    sizeBytes: 1,
    checksum: '0'.repeat(64),
    blobPath,
    metadata: {},
    validation: { checks: [] },
    rulesVersion: 1,
    rulesAt: rows[0]!.updated_at,
    createdAt: new Date(),
  }
}

function toUploadEntry(file: UploadedFile): Entry {
  const { tenantId, fileId, contextId, contextKey } = file
  return {
    upload: { actor: createSystemActor(tenantId), file },
    call: {
      ...{ tenantId, fileId, contextId, contextKey, apiKeyId: newId('key'), apiKeyName: 'Self-test', operation: 'upload' },
      ...{ status: 'success', errorCode: null, errorMessage: null, validation: null, ipAddress: '', userAgent: '' },
    },
  }
}

async function commitEntry(client: ClientBase, tenantId: string, entry: Entry): Promise<void> {
  const { rows } = await client.query<{ refusals: Rejection[] }>(createMoveStatement(tenantId, [entry]))
  const [rejection] = rows[0]!.refusals
  if (rejection) throw new Error(`The ledger rejected the entry: ${JSON.stringify(rejection)}`)
}

async function testFileList(client: ClientBase, { tenantId, fileId, contextId }: UploadedFile): Promise<void> {
  const filter = { tenantId, contextIds: [contextId], uploadedBy: null }
  const { data } = await new FileList(client).listPage(filter, { page: 1, pageSize: 20 })
  if (data.length !== 1 || data[0]!.fileId !== fileId) throw new Error('The list does not contain the uploaded file.')
}

async function testFold(client: ClientBase, tenantId: string): Promise<void> {
  await foldTenants(client, [tenantId])
  const { rows } = await client.query<{ uploads: number }>(
    `SELECT upload_success AS uploads FROM usage_counters WHERE tenant_id = $1 AND subject = '' AND grain = 'total'`,
    [tenantId],
  )
  if (Number(rows[0]?.uploads) !== 1) throw new Error('The fold did not count the upload.')
}
