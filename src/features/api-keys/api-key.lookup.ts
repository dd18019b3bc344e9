import type { Pool } from 'pg'
import type { ApiKeyRecord, KeyUse } from '../../access/authenticate.js'
import { createCredentialBatcher } from '../../access/identity-cache.js'

type Row = Omit<ApiKeyRecord, 'graceEndsAt' | 'contexts'> & {
  contextIds: string[]
  restricted: boolean
  secretHash: Buffer
  previousSecretHash: Buffer | null
  previousExpiresAt: Date | null
}

/** Returns a function that loads an API key by the hash of its secret. Concurrent calls share one SQL statement. */
export const createApiKeyLoader = (pool: Pool) => {
  const lookups = createCredentialBatcher((hashes: readonly Buffer[]) => loadApiKeys(pool, hashes))
  return (hash: Buffer) => lookups.add(hash)
}

async function loadApiKeys(pool: Pool, hashes: readonly Buffer[]): Promise<(ApiKeyRecord | null)[]> {
  const { rows } = await pool.query<Row>({
    name: 'api-keys-by-hash',
    text: `SELECT k.api_key_id AS "apiKeyId", k.tenant_id AS "tenantId", k.name, k.scopes::text[] AS scopes, k.context_ids AS "contextIds", k.restricted, k.status,
        k.expires_at AS "expiresAt", t.status AS "tenantStatus", k.secret_hash AS "secretHash",
        k.previous_secret_hash AS "previousSecretHash", k.previous_expires_at AS "previousExpiresAt"
      FROM api_keys k JOIN tenants t USING (tenant_id) WHERE k.secret_hash = ANY($1::bytea[]) OR k.previous_secret_hash = ANY($1::bytea[])`,
    values: [hashes],
  })
  const found = new Map<string, ApiKeyRecord>()
  for (const { contextIds, restricted, secretHash, previousSecretHash, previousExpiresAt, ...fields } of rows) {
    const key = { ...fields, contexts: restricted ? contextIds : null }
    if (previousSecretHash) found.set(previousSecretHash.toString('hex'), { ...key, graceEndsAt: previousExpiresAt })
    found.set(secretHash.toString('hex'), { ...key, graceEndsAt: null })
  }
  return hashes.map((hash) => found.get(hash.toString('hex')) ?? null)
}

/** Saves the last-used times of many API keys with one SQL statement. */
export const createLastUsedWriter =
  (pool: Pool) =>
  async (uses: KeyUse[]): Promise<void> => {
    await pool.query(
      `UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at) FROM unnest($1::text[], $2::timestamptz[]) AS u(id, at) WHERE k.api_key_id = u.id`,
      [uses.map(({ apiKeyId }) => apiKeyId), uses.map(({ at }) => at)],
    )
  }
