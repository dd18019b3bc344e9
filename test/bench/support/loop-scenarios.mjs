// Combines the largest requests that a client can send, by name.
import { getIntrospectionQuery } from 'graphql'

const extensions =
  'txt csv json xml png jpg webp gif tiff bmp avif svg pdf zip gz tar 7z docx xlsx pptx odt doc xls ppt epub jar html mp3 wav flac ogg m4a mp4 mov webm bin dat exe'
const context = {
  context_key: 'loop',
  display_name: 'Everything',
  allowed_extensions: extensions.split(' '),
  max_file_size_mb: 512,
}

const MiB = 1_048_576

/** Calls each path once, like the first requests after a start. */
export const createFirstRequests = (client, world) => [
  ['health', () => client.get('/health/ready')],
  ['create context', () => client.post('/api/v1/contexts', context, { expect: 201 })],
  [
    'upload txt',
    async () =>
      (world.fileId = JSON.parse(
        (await client.upload('loop', 'a.txt', Buffer.from('some text'), { expect: 201 })).text(),
      ).data.file_id),
  ],
  ['upload 1 MiB', () => client.upload('loop', 'a.txt', Buffer.alloc(MiB, 'text '))],
  ['refused upload', () => client.upload('loop', 'a.png', Buffer.from('some text'), { expect: 422 })],
  ['dry run', () => client.upload('loop', 'a.txt', Buffer.from('some text'), { path: '/api/v1/files/validate', expect: 200 })],
  ['no such path', () => client.call('GET', '/api/v1/nothing', { expect: 404 })],
  ['bad JSON', () => client.post('/api/v1/contexts', '{', { expect: 400 })],
  ['unknown key', () => client.call('GET', '/api/v1/files', { headers: { authorization: 'Bearer assay_x' }, expect: 401 })],
  ['list', () => client.get('/api/v1/files')],
  [
    'download URL',
    async () => (world.downloadUrl = JSON.parse((await client.get(`/api/v1/files/${world.fileId}`)).text()).data.download_url),
  ],
  ['download', () => client.get(new URL(world.downloadUrl).pathname + new URL(world.downloadUrl).search)],
  ['stats', () => client.get('/api/v1/stats')],
  ['chart', () => client.get('/api/v1/stats/charts/api-calls')],
  ['call logs', () => client.get('/api/v1/stats/logs')],
  ['audit logs', () => client.get('/api/v1/audit-logs')],
  ['export csv', () => client.get('/api/v1/stats/logs/export?format=csv')],
  ['create key', () => client.post('/api/v1/api-keys', { name: 'a' }, { expect: 201 })],
  ['GraphQL', () => client.graphql('{ me { id } }', {}, { expect: 200 })],
  ['GraphQL at fault', () => client.graphql('{ mee { id } }', {}, { expect: 400 })],
  [
    'GraphQL upload',
    () => client.graphqlUpload(uploadDocument, { file: null }, [{ at: 'variables.file', name: 'a.txt', content: 'text' }], 200),
  ],
  [
    'sign-in',
    async () =>
      (world.token = JSON.parse(
        (await client.graphql(createSignInDocument(world), {}, { expect: 200 })).text(),
      ).data.signIn.token),
  ],
  ['session', () => client.get('/api/v1/tenant', { headers: { authorization: `Bearer ${world.token}` } })],
  ['introspection', () => client.graphql(getIntrospectionQuery(), {}, { expect: 200 })],
  ['openapi.json', () => client.get('/api/v1/openapi.json')],
  ['docs', () => client.get('/docs')],
  ['docs bundle', () => client.get('/docs/swagger-ui-bundle.js')],
  ['sandbox', () => client.get('/graphql', { headers: { accept: 'text/html' } })],
  ['metrics', () => client.get('/metrics')],
  ['jwks', () => client.get('/.well-known/jwks.json')],
  ['verify', () => client.graphql('{ storageHealth { countersDrift } }', {})],
  ['delete', () => client.call('DELETE', `/api/v1/files/${world.fileId}`, { expect: 200 })],
]

export const uploadDocument = 'mutation ($file: Upload!) { uploadFile(file: $file, context: "loop") { fileId } }'
const createSignInDocument = ({ email, password }) =>
  `mutation { signIn(email: ${JSON.stringify(email)}, password: ${JSON.stringify(password)}) { token } }`

/** Returns malformed and maximum-size form bodies. */
export const createForms = (client) => {
  const createDisposition = (name, more = '') => `Content-Disposition: form-data; name="${name}"${more}`
  const file = [createDisposition('file', '; filename="a.txt"'), 'some text']
  return [
    [
      '1,000 fields',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          ...Array.from({ length: 1000 }, (_, n) => [createDisposition(`f${n}`), 'x']),
          file,
        ]),
    ],
    [
      '1,000 files',
      () => client.form('/api/v1/files/upload', [[createDisposition('context'), 'loop'], ...Array(1000).fill(file)]),
    ],
    [
      '200 headers of a part',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          [`${file[0]}\r\n${Array.from({ length: 200 }, (_, n) => `X-${n}: y`).join('\r\n')}`, 'x'],
        ]),
    ],
    [
      'a metadata of 1 MB',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          [createDisposition('metadata'), JSON.stringify({ a: Array(200_000).fill(1) })],
          file,
        ]),
    ],
    [
      'a file name of 60,000 bytes',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          [createDisposition('file', `; filename="${'\u0301x'.repeat(20_000)}.txt"`), 'x'],
        ]),
    ],
    [
      '4 MB of almost boundaries',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          [createDisposition('file', '; filename="a.txt"'), '\r\n--for'.repeat(600_000)],
        ]),
    ],
    [
      '4 MB of line ends',
      () =>
        client.form('/api/v1/files/upload', [
          [createDisposition('context'), 'loop'],
          [createDisposition('file', '; filename="a.txt"'), '\r\n'.repeat(2_000_000)],
        ]),
    ],
    [
      '4 MB before the first boundary',
      () =>
        client.call('POST', '/api/v1/files/upload', {
          headers: { 'content-type': 'multipart/form-data; boundary=x' },
          body: [Buffer.alloc(4 * MiB, '\r\n--')],
        }),
    ],
    [
      'GraphQL: 1 MB of operations',
      () =>
        client.form(
          '/graphql',
          [
            [
              createDisposition('operations'),
              JSON.stringify({ query: '{ me { id } }', variables: { x: Array(450_000).fill(1) } }),
            ],
            [createDisposition('map'), '{"0":["variables.x.0"]}'],
            [createDisposition('0', '; filename="a.txt"'), 'x'],
          ],
          { 'apollo-require-preflight': 'true' },
        ),
    ],
    [
      'GraphQL: 1 MB of map',
      () =>
        client.form(
          '/graphql',
          [
            [createDisposition('operations'), JSON.stringify({ query: '{ me { id } }', variables: { f: null } })],
            [createDisposition('map'), JSON.stringify({ 0: Array(45_000).fill('variables.f') })],
            [createDisposition('0', '; filename="a.txt"'), 'x'],
          ],
          { 'apollo-require-preflight': 'true' },
        ),
    ],
    [
      'GraphQL: a path of 300,000 steps',
      () =>
        client.form(
          '/graphql',
          [
            [createDisposition('operations'), JSON.stringify({ query: '{ me { id } }', variables: { f: null } })],
            [createDisposition('map'), JSON.stringify({ 0: [`variables${'.f'.repeat(300_000)}`] })],
            [createDisposition('0', '; filename="a.txt"'), 'x'],
          ],
          { 'apollo-require-preflight': 'true' },
        ),
    ],
  ]
}
