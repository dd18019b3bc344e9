export const createLargestRestRequests = (client) => [
  ['100 files', () => client.get('/api/v1/files?page_size=100')],
  ['100 call logs', () => client.get('/api/v1/stats/logs?page_size=100')],
  ['100 audit logs', () => client.get('/api/v1/audit-logs?page_size=100')],
  ['calls of a year by hour', () => client.get('/api/v1/stats/charts/api-calls?period=hourly&days=365')],
  ['uploads of a year by hour', () => client.get('/api/v1/stats/charts/uploads?period=hourly&days=365')],
  ['storage of a year by day', () => client.get('/api/v1/stats/charts/storage?period=daily&days=365')],
  ['stats', () => client.get('/api/v1/stats')],
  ['calls by context', () => client.get('/api/v1/stats/by-context/api-calls')],
  ['export of calls, csv', () => client.get('/api/v1/stats/logs/export?format=csv')],
  ['export of calls, ndjson', () => client.get('/api/v1/stats/logs/export?format=ndjson')],
  ['export of the audit log, csv', () => client.get('/api/v1/audit-logs/export?format=csv')],
  [
    'a key with 1 MB of metadata',
    () => client.post('/api/v1/api-keys', { name: 'x', metadata: { a: 'x'.repeat(1_000_000) } }, { expect: 400 }),
  ],
  [
    'a key with 60,000 members of metadata',
    () =>
      client.post(
        '/api/v1/api-keys',
        { name: 'x', metadata: Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n])) },
        { expect: 400 },
      ),
  ],
  [
    'a key with 60,000 unknown members',
    () =>
      client.post('/api/v1/api-keys', Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n])), {
        expect: 400,
      }),
  ],
  [
    'a key with 250,000 scopes',
    () => client.post('/api/v1/api-keys', { name: 'x', scopes: Array(250_000).fill('') }, { expect: 400 }),
  ],
  [
    'a key with 250,000 contexts',
    () =>
      client.post(
        '/api/v1/api-keys',
        { name: 'x', contexts: Array.from({ length: 100_000 }, (_, n) => `c${n}`) },
        { expect: 400 },
      ),
  ],
  [
    'a context with 250,000 extensions',
    () =>
      client.post(
        '/api/v1/contexts',
        { context_key: 'x', display_name: 'x', max_file_size_mb: 1, allowed_extensions: Array(250_000).fill('') },
        { expect: 400 },
      ),
  ],
  ['a name of 1 MB', () => client.post('/api/v1/api-keys', { name: 'x'.repeat(1_000_000) }, { expect: 400 })],
  [
    'a template of 1 MB',
    () =>
      client.post(
        '/api/v1/contexts',
        {
          context_key: 'x',
          display_name: 'x',
          max_file_size_mb: 1,
          allowed_extensions: ['a'],
          storage_path_template: '{'.repeat(500_000),
        },
        { expect: 400 },
      ),
  ],
  [
    'a metadata of 100,000 levels',
    () => client.post('/api/v1/api-keys', `{"name":"x","metadata":${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}}`, {}),
  ],
  ['1 MB of [', () => client.post('/api/v1/api-keys', '['.repeat(1_000_000), {})],
  [
    '10 keys',
    async () => {
      for (let n = 0; n < 10; n++) await client.post('/api/v1/api-keys', { name: `k${n}` }, { expect: 201 })
    },
  ],
  ['metrics', () => client.get('/metrics')],
  ['openapi.json', () => client.get('/api/v1/openapi.json')],
  ['docs bundle', () => client.get('/docs/swagger-ui-bundle.js')],
]
