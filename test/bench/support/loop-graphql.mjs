import { getIntrospectionQuery } from 'graphql'
import { uploadDocument } from './loop-scenarios.mjs'

export const createLargestGraphqlRequests = (client, world) => [
  ['introspection', () => client.graphql(getIntrospectionQuery(), {}, { expect: 200 })],
  [
    'introspection twice',
    () =>
      client.graphql(
        `${getIntrospectionQuery()} query B { ...FullTypes } fragment FullTypes on Query { __schema { types { ...FullType } } }`,
        {},
        {},
      ),
  ],
  [
    '980 fields',
    () =>
      client.graphql(
        `{ ${repeatText(16, (at) => `a${at}: files(pageSize: 1) { data { ${repeatText(58, (n) => `f${n}: fileId`)} } }`)} }`,
      ),
  ],
  ['980 different fields', () => client.graphql(`{ tenant { ${repeatText(950, (n) => `f${n}: name`)} } }`)],
  ['unknown fields', () => client.graphql(`{ tenant { ${repeatText(950, (n) => `nam${n}`)} } }`)],
  ['unknown types', () => client.graphql(`${repeatText(300, (n) => `fragment F${n} on Fil${n} { fileId }`)} { me { id } }`)],
  ['unused fragments', () => client.graphql(`${repeatText(600, (n) => `fragment F${n} on File { fileId }`)} { me { id } }`)],
  ['unused variables', () => client.graphql(`query (${repeatText(1900, (n) => `$v${n}: Int`)}) { me { id } }`)],
  ['undefined variables', () => client.graphql(`{ ${repeatText(19, (n) => `a${n}: file(fileId: $x${n}) { fileId }`)} }`)],
  ['the same response name', () => client.graphql(`{ tenant { ${repeatText(950, () => 'name')} } }`)],
  ['overlapping fields', () => client.graphql(`{ ${repeatText(900, () => 'me { id }')} }`)],
  [
    'overlapping fragments',
    () =>
      client.graphql(
        `{ tenant { ${repeatText(100, (n) => `...F${n}`)} } } ${repeatText(100, (n) => `fragment F${n} on Tenant { ${repeatText(4, (m) => `a${m}: name`)} }`)}`,
      ),
  ],
  ['conflicting fields', () => client.graphql(`{ tenant { ${repeatText(450, (n) => `a: ${n % 2 ? 'name' : 'tenantId'}`)} } }`)],
  ['8,000 tokens of arguments', () => client.graphql(`{ callLogs(${repeatText(1900, (n) => `p${n}: 1`)}) { data { callId } } }`)],
  ['100,000 characters', () => client.graphql(`{ context(contextKey: "${'x'.repeat(99_000)}") { contextId } }`)],
  [
    '1 MB variable',
    () => client.graphql('query ($k: String!) { context(contextKey: $k) { contextId } }', { k: 'x'.repeat(1_000_000) }),
  ],
  [
    '100,000 numbers in a variable',
    () => client.graphql('query ($k: String!) { context(contextKey: $k) { contextId } }', { k: Array(400_000).fill(1) }),
  ],
  [
    'list of 400,000 where strings are wanted',
    () => client.graphql(createKey, { input: { name: 'x', scopes: Array(250_000).fill('') } }),
  ],
  [
    'list of 250,000 extensions',
    () =>
      client.graphql(createContext, {
        input: { contextKey: 'x', displayName: 'x', maxFileSizeMb: 1, allowedExtensions: Array(250_000).fill('') },
      }),
  ],
  [
    'metadata of 1 MB',
    () =>
      client.graphql(createKey, {
        input: { name: 'x', metadata: Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n])) },
      }),
  ],
  [
    'deep metadata',
    () => client.graphql(createKey, `{"input":{"name":"x","metadata":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}}`),
  ],
  [
    'many unknown members',
    () =>
      client.graphql(createKey, {
        input: { name: 'x', ...Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n])) },
      }),
  ],
  [
    '100 files with everything',
    () => client.graphql(`{ files(pageSize: 100) { data { ${fileFields} } pagination { totalItems } } }`, {}, { expect: 200 }),
  ],
  [
    '100 calls with everything',
    () => client.graphql(`{ callLogs(pageSize: 100) { data { ${callFields} } } }`, {}, { expect: 200 }),
  ],
  [
    'lists up to the cost',
    () =>
      client.graphql(
        `{ ${repeatText(8, (n) => `a${n}: files(pageSize: 100) { data { ${fileFields} } }`)} }`,
        {},
        { expect: 200 },
      ),
  ],
  [
    'a year by hour',
    () =>
      client.graphql(
        `{ apiCallsChart(period: hourly, days: 365) { period dataPoints { timestamp total success failure byOperation { upload download metadata delete } } } }`,
        {},
        { expect: 200 },
      ),
  ],
  [
    'a year by hour, thrice',
    () =>
      client.graphql(
        `{ apiCallsChart(period: hourly, days: 365) { dataPoints { timestamp total success failure byOperation { upload download metadata delete } } } storageChart(period: daily, days: 365) { dataPoints { timestamp totalBytes filesCount } } uploadsChart(period: hourly, days: 365) { dataPoints { timestamp count totalBytes } } }`,
        {},
        { expect: 200 },
      ),
  ],
  [
    'charts up to the cost',
    () =>
      client.graphql(
        `{ ${repeatText(2, (n) => `a${n}: apiCallsChart(period: hourly, days: 365) { dataPoints { timestamp total success failure byOperation { upload download metadata delete } } }`)} }`,
      ),
  ],
  [
    '20 sign-ins',
    () =>
      client.graphql(
        `mutation { ${repeatText(20, (n) => `a${n}: signIn(email: "x${n}@example.com", password: "xxxxxxxx") { token }`)} }`,
      ),
  ],
  ['signed in', () => client.get('/api/v1/tenant', { headers: { authorization: `Bearer ${world.token}` } })],
  [
    'upload of 10 files',
    () =>
      client.graphqlUpload(
        `mutation (${repeatText(10, (n) => `$f${n}: Upload!`)}) { ${repeatText(10, (n) => `a${n}: uploadFile(file: $f${n}, context: "loop") { fileId }`)} }`,
        Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`f${n}`, null])),
        Array.from({ length: 10 }, (_, n) => ({
          at: `variables.f${n}`,
          name: `a${n}.txt`,
          content: Buffer.alloc(200_000, 'text '),
        })),
        200,
      ),
  ],
  [
    'upload with 1 MB of variables',
    () =>
      client.graphqlUpload(uploadDocument, { file: null, x: Array(450_000).fill(1) }, [
        { at: 'variables.file', name: 'a.txt', content: 'text' },
      ]),
  ],
]

const repeatText = (count, make) => Array.from({ length: count }, (_, at) => make(at)).join(' ')
const createKey = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKeyId } }'
const createContext = 'mutation ($input: CreateContextInput!) { createContext(input: $input) { contextId } }'
const fileFields =
  'fileId originalFilename contentType sizeBytes contextKey checksum metadata uploadedBy uploadedByName downloadCount lastDownloadedAt createdAt updatedAt context { contextId contextKey displayName allowedExtensions maxFileSizeMb metadata createdAt }'
const callFields = 'callId apiKeyId apiKeyName operation status fileId contextKey errorMessage ipAddress userAgent createdAt'
