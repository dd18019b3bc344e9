import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { ConfigError, readConfig } from '../../src/platform/config/config.js'

const key = Buffer.alloc(32, 7).toString('base64')

function faults(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
}

describe('default configuration', () => {
  test('uses the documented configuration defaults', () => {
    expect(readConfig({})).toMatchObject({
      port: 8080,
      host: '0.0.0.0',
      publicUrl: 'http://localhost:8080',
      dataDir: resolve('.data'),
      databaseUrl: undefined,
      storageUrl: pathToFileURL(resolve('.data/blobs')).href,
      scannerUrl: undefined,
      maxUploadMb: 1024,
      bootstrap: { apiKey: undefined, adminEmail: 'admin@localhost', adminPassword: undefined },
      jwt: undefined,
      masterKey: undefined,
      production: false,
      graphqlExplorer: true,
      dashboard: true,
      logLevel: 'info',
      trustProxy: false,
      callLogRetentionDays: undefined,
      auditLogRetentionDays: undefined,
      reconcileIntervalHours: 24,
      corsOrigins: [],
    })
  })

  test('allows more than 60,000 calls a minute and at least 64 concurrent uploads by default', () => {
    const { rateLimitPerMinute, maxUploadsAtOnce } = readConfig({})
    expect(rateLimitPerMinute).toBeGreaterThan(60_000)
    expect(maxUploadsAtOnce).toBeGreaterThanOrEqual(64)
  })

  test('treats an empty configuration variable as unset', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: ' ', SCANNER_URL: '' })).toEqual(readConfig({}))
  })
})

describe('valid configuration variables', () => {
  test.each<[NodeJS.ProcessEnv, object]>([
    [{ PORT: '9000' }, { port: 9000, publicUrl: 'http://localhost:9000' }],
    [{ PUBLIC_URL: 'https://files.example.com/base/' }, { publicUrl: 'https://files.example.com/base' }],
    [{ DATA_DIR: 'a b' }, { dataDir: resolve('a b'), storageUrl: pathToFileURL(resolve('a b/blobs')).href }],
    [
      { DATABASE_URL: 'postgresql://u:p@h/d', MASTER_KEY: key },
      { databaseUrl: 'postgresql://u:p@h/d', masterKey: Buffer.alloc(32, 7) },
    ],
    [
      { DATABASE_URL: 'postgresql://u:p@/assay?host=/cloudsql/p:r:i', MASTER_KEY: key },
      { databaseUrl: 'postgresql://u:p@localhost/assay?host=/cloudsql/p:r:i' },
    ],
    [
      { DATABASE_URL: 'postgres://u@pooler/d', DATABASE_DIRECT_URL: 'postgres://u@h/d', MASTER_KEY: key },
      { databaseUrl: 'postgres://u@pooler/d', databaseDirectUrl: 'postgres://u@h/d' },
    ],
    [{ MASTER_KEY_PREVIOUS: `${key}, ${key}` }, { previousMasterKeys: [Buffer.alloc(32, 7), Buffer.alloc(32, 7)] }],
    [{ STORAGE_URL: 'gs://bucket/prefix' }, { storageUrl: 'gs://bucket/prefix' }],
    [{ STORAGE_URL: 'file:///var/lib/assay' }, { storageUrl: 'file:///var/lib/assay' }],
    [{ SCANNER_URL: 'clamd://a:3310, clamd:///run/clamd.sock' }, { scannerUrl: 'clamd://a:3310,clamd:///run/clamd.sock' }],
    [{ SCANNER_URL: 'clamscan:' }, { scannerUrl: 'clamscan:' }],
    [{ SCANNER_URL: 'yara:' }, { scannerUrl: 'yara:' }],
    [{ NODE_ENV: 'production' }, { production: true, graphqlExplorer: false, shutdownDelaySeconds: 5 }],
    [{ DATABASE_URL: 'postgresql://u:p@h/d', MASTER_KEY: key, NODE_ENV: 'test' }, { shutdownDelaySeconds: 0 }],
    [{ NODE_ENV: 'production', GRAPHQL_EXPLORER: 'on' }, { graphqlExplorer: true }],
    [{ GRAPHQL_EXPLORER: 'off' }, { graphqlExplorer: false }],
    [{ DASHBOARD: 'off' }, { dashboard: false }],
    [{ TRUST_PROXY: '2' }, { trustProxy: 2 }],
    [{ TRUST_PROXY: '0' }, { trustProxy: false }],
    [{ TRUST_PROXY: 'loopback, 10.0.0.0/8,::1' }, { trustProxy: ['loopback', '10.0.0.0/8', '::1'] }],
    [
      { CORS_ORIGINS: 'https://a.example, http://localhost:3000' },
      { corsOrigins: ['https://a.example', 'http://localhost:3000'] },
    ],
    [
      { CALL_LOG_RETENTION_DAYS: '90', RECONCILE_INTERVAL_HOURS: '0' },
      { callLogRetentionDays: 90, reconcileIntervalHours: 0 },
    ],
    [
      { JWT_ISSUER: 'https://id', JWT_AUDIENCE: 'assay', JWT_JWKS_URL: 'https://id/jwks', JWT_TENANT_CLAIM: 'org' },
      {
        jwt: {
          issuer: 'https://id',
          audience: 'assay',
          jwksUrl: 'https://id/jwks',
          claims: { tenant: 'org', scopes: 'scope', email: 'email', name: 'name' },
        },
      },
    ],
  ])('accepts the valid configuration variables %j', (env, expected) => {
    expect(readConfig(env)).toMatchObject(expected)
  })
})

describe('invalid configuration variables', () => {
  test.each<[NodeJS.ProcessEnv, string]>([
    [{ PORT: '80 80' }, "PORT is '80 80'. It must be a whole number from 0 to 65535."],
    [
      { DATABASE_DIRECT_URL: 'postgresql://u@h/d', MASTER_KEY: key },
      "DATABASE_URL is not set. It must be the pooler's URL if DATABASE_DIRECT_URL is set.",
    ],
    [{ PORT: '-1' }, "PORT is '-1'. It must be a whole number from 0 to 65535."],
    [{ PORT: '65536' }, "PORT is '65536'. It must be a whole number from 0 to 65535."],
    [{ MAX_UPLOAD_MB: '1.5' }, "MAX_UPLOAD_MB is '1.5'. It must be a whole number from 1 to 1048576."],
    [{ LOG_LEVEL: 'loud' }, "LOG_LEVEL is 'loud'. It must be one of silent, fatal, error, warn, info, debug, trace."],
    [{ GRAPHQL_EXPLORER: 'yes' }, "GRAPHQL_EXPLORER is 'yes'. It must be one of on, off."],
    [
      { STORAGE_URL: 'ftp://bucket' },
      "STORAGE_URL is 'ftp://bucket'. It must be gs://bucket, s3://bucket?region=eu-central-1 or file:///directory.",
    ],
    [
      { STORAGE_URL: 's3://bucket' },
      "STORAGE_URL is 's3://bucket'. It must be an S3 URL with a region, such as s3://bucket?region=eu-central-1.",
    ],
    [
      { STORAGE_URL: 's3://bucket?regoin=x' },
      "STORAGE_URL is 's3://bucket?regoin=x'. It must be an S3 URL without the unknown parameter 'regoin'. Supported parameters: region, endpoint, path_style.",
    ],
    [{ S3_ACCESS_KEY_ID: 'id' }, 'S3_SECRET_ACCESS_KEY is not set. It must be set if S3_ACCESS_KEY_ID is set.'],
    [
      { SCANNER_URL: 'clamav' },
      "SCANNER_URL is 'clamav'. It must be one or more comma-separated clamd URLs (clamd://host:3310 or clamd:///path/to.sock), or clamscan:, yara: or none:.",
    ],
    [
      { PUBLIC_URL: 'files.example.com' },
      "PUBLIC_URL is 'files.example.com'. It must be an http or https URL without a query or fragment, such as https://files.example.com.",
    ],
    [{ HOST: 'a b' }, "HOST is 'a b'. It must be an address or a host name to listen on, such as 0.0.0.0."],
    [
      { CORS_ORIGINS: 'https://a.example/' },
      "CORS_ORIGINS is 'https://a.example/'. It must be origins such as https://app.example.com, separated by commas, or *.",
    ],
    [
      { TRUST_PROXY: 'true' },
      "TRUST_PROXY is 'true'. It must be the number of proxies, or their addresses or networks (10.0.0.0/8, ::1, loopback, linklocal, uniquelocal), separated by commas.",
    ],
    [
      { JWT_ISSUER: 'a', JWT_AUDIENCE: 'b' },
      'JWT_JWKS_URL is not set. It must be set if any of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL is set.',
    ],
  ])('reports the invalid variables %j and their allowed values', (env, message) => {
    expect(faults(env)).toEqual([message])
  })

  test('requires a MASTER_KEY for an external database', () => {
    expect(faults({ DATABASE_URL: 'postgresql://u@h/d' })).toEqual([
      expect.stringMatching(/^MASTER_KEY is not set. It must be 32 bytes in base64 .*, if DATABASE_URL is set\.$/),
    ])
  })

  test('reports all configuration errors together', () => {
    expect(
      faults({ PORT: 'x', MAX_UPLOAD_MB: 'y', LOG_LEVEL: 'z', DATABASE_URL: 'mysql://h/d' }).map((fault) => fault.split(' ')[0]),
    ).toEqual(['PORT', 'DATABASE_URL', 'MAX_UPLOAD_MB', 'MASTER_KEY', 'LOG_LEVEL'])
  })

  test.each(['DATABASE_URL', 'MASTER_KEY', 'MASTER_KEY_PREVIOUS', 'BOOTSTRAP_API_KEY', 'BOOTSTRAP_ADMIN_PASSWORD', 'REDIS_URL'])(
    'hides the value of %s in configuration errors',
    (name) => {
      const secret = 'hushed!'
      const reported = faults({ [name]: secret }).join()
      expect(reported).toContain(`${name} is a value of 7 characters`)
      expect(reported).not.toContain(secret)
    },
  )

  test('reports a short BOOTSTRAP_API_KEY together with other configuration errors', () => {
    expect(faults({ PORT: 'x', BOOTSTRAP_API_KEY: 'k'.repeat(31) })).toEqual([
      expect.stringMatching(/^PORT is 'x'\. /),
      "BOOTSTRAP_API_KEY is a value of 31 characters. It must be 32 to 200 characters: letters, digits, '-', '_', '~', '+' and '/', and '=' at the end.",
    ])
    expect(faults({ BOOTSTRAP_API_KEY: 'k'.repeat(32) })).toEqual([])
  })

  test('rejects a BOOTSTRAP_API_KEY that cannot be sent in an Authorization header', () => {
    for (const character of ['.', '!', '=k'])
      expect(faults({ BOOTSTRAP_API_KEY: `${'k'.repeat(40)}${character}k` })).toHaveLength(1)
    expect(faults({ BOOTSTRAP_API_KEY: `${'k/+_~-'.repeat(7)}==` })).toEqual([])
  })

  test('rejects a MASTER_KEY of 31 or 33 bytes', () => {
    for (const bytes of [31, 33]) expect(faults({ MASTER_KEY: Buffer.alloc(bytes).toString('base64') })).toHaveLength(1)
  })
})
