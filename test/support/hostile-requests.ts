import fc from 'fast-check'
import { pdf, png, zip } from '../../packages/formats/test/support/samples/basic.js'
import { routes } from '../../src/api/rest/routes.js'
import type { RawRequest } from './byte-http.js'
import { eicar } from './eicar.js'

/** Inputs that caused errors in similar products. */
const hostileStrings = [
  '',
  '0',
  '-1',
  '1.5',
  '1e999',
  '2147483647',
  '2147483648',
  '99999999999999999999',
  'null',
  'undefined',
  'NaN',
  'true',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  '..',
  '../../etc/passwd',
  "' OR 1=1; --",
  '\u0000',
  'a\u0000b',
  '\r\nX-Injected: 1',
  '\u202etxt.exe',
  '\u{1F600}'.repeat(75),
  'x'.repeat(300),
  'x'.repeat(5_000),
  '\ud800',
  '{context_key}',
  '%00',
  '%2e%2e%2f',
  '2026-01-01',
  '2026-02-30T25:61:61Z',
  '+275760-09-13T00:00:00.000Z',
  '0000-01-01',
]
const hostileString = fc.oneof(
  fc.constantFrom(...hostileStrings),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
)

// Lone surrogates cannot be encoded and are replaced.
const encoded = hostileString.map((text) => encodeURIComponent(text.toWellFormed()))
const segment = fc.oneof(
  encoded,
  fc.constantFrom('%', '%zz', '%ff', '%00', '%2e%2e', '.', '..', '%2F', ';', 'a%0d%0ab', '\\', '*'),
)

/** Ids of existing objects, with which some requests succeed. */
export interface KnownObjects {
  keyId: string
  fileId: string
  contextKey: string
  credentials: string[]
}

const names = [
  ...new Set(
    'name scopes expires_in_days metadata contexts context_key display_name allowed_extensions max_file_size_mb description storage_path_template reject_blank_files scan_for_viruses storage_quota_mb status page page_size context uploaded_by api_key_id operation start_date end_date audit_type action entity_id period days grace_seconds file'.split(
      ' ',
    ),
  ),
]

const createTarget = (known: KnownObjects) => {
  const filled = fc.constantFrom(...routes).chain(({ path }) =>
    fc
      .array(fc.oneof(segment, fc.constantFrom(known.keyId, known.fileId, known.contextKey, 'api_key')), {
        minLength: 2,
        maxLength: 2,
      })
      .map((values) => {
        let index = 0
        return `/api/v1${path.replace(/\{\w+\}/g, () => values[index++]!)}`
      }),
  )
  const path = fc.oneof(
    { weight: 8, arbitrary: filled },
    { weight: 2, arbitrary: fc.array(segment, { maxLength: 5 }).map((parts) => `/api/v1/${parts.join('/')}`) },
    { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`) },
    { weight: 2, arbitrary: fc.constant('/graphql') },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '//api/v1/files',
        '/api/v1//files',
        '/api/v1/../graphql',
        '/api/v1/%2e%2e/%2e%2e/metrics',
        `/api/v1/files/${'x'.repeat(8_000)}`,
        `/${'a/'.repeat(3_000)}`,
        'http://other.example/api/v1/files',
        'http://other.example:99999999/api/v1/files',
        'http://[/api/v1/files',
        '*',
        '/download/x?expires=1&signature=2',
        `/download/${known.fileId}?%00=1`,
        '/api/v1/stats/logs/export?format=exe',
        '/api/v1/audit-logs/export',
        '/docs/../../etc/passwd',
        '/health/live',
        '/.well-known/jwks.json',
        '/api/v1/files#fragment',
      ),
    },
  )
  const pair = fc.tuple(fc.constantFrom(...names, '__proto__', 'query', 'variables'), fc.oneof(encoded, segment))
  const query = fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'))
  return fc.tuple(path, query).map(([at, text]) => (text === '' ? at : `${at}?${text}`))
}

const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  hostileString,
  fc.constantFrom(['upload'], ['admin', 'admin'], { a: { b: ['\0'] } }, [[[[]]]], 1e300, -0, { constructor: 1 }),
)
const members = fc
  .array(fc.tuple(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: hostileString }), json), {
    maxLength: 8,
  })
  .map((pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value ?? null)}`).join(',')}}`)

const graphqlDocuments = [
  '{ me { id } }',
  '{ files(page: $p) { data { fileId } } }',
  'query ($p: Int) { files(page: $p) { data { fileId context { contextKey } } } }',
  'mutation ($m: JSONObject) { createApiKey(input: { name: "x", metadata: $m }) { apiKeyId } }',
  'mutation { uploadFile(file: null, context: "x") { fileId } }',
  'subscription { x }',
  '{ __schema { types { name } } }',
  '{ callLogsConnection(after: "bm9uc2Vuc2U") { pageInfo { endCursor } } }',
  'mutation ($n: String!) { signIn(email: $n, password: $n) { token } }',
  '{',
  '',
  'fragment A on Query { ...B } fragment B on Query { ...A } { ...A }',
]
const graphqlBody = fc
  .record({
    query: fc.oneof(fc.constantFrom<unknown>(...graphqlDocuments), json),
    variables: fc.oneof(json, fc.dictionary(fc.constantFrom('p', 'm', 'n', 'file'), json)),
    operationName: fc.option(json),
  })
  .map((body) => JSON.stringify(body))

interface Body {
  bytes: Buffer
  type: string | undefined
}

const contents = [
  Buffer.alloc(0),
  Buffer.from('text'),
  eicar,
  png(),
  pdf(),
  pdf().subarray(0, 99),
  zip({ '../x': 'y' }),
  Buffer.alloc(70_000, 'x'),
]
const createPart = (known: KnownObjects) =>
  fc
    .record({
      name: fc.oneof(fc.constantFrom('file', 'context', 'metadata', 'operations', 'map', '0', ''), hostileString),
      filename: fc.option(fc.oneof(hostileString, fc.constantFrom('a.txt', 'a.pdf', 'a.png', 'a"b.txt', "x.txt'; drop"))),
      content: fc.oneof(
        fc.constantFrom<Buffer | string>(
          ...contents,
          known.contextKey,
          '{"a":1}',
          '{"query":"{ me { id } }"}',
          '{"0":["variables.file"]}',
        ),
        hostileString,
      ),
      header: fc.option(
        fc.constantFrom(
          'Content-Type: text/html',
          'Content-Transfer-Encoding: base64',
          'broken',
          `X: ${'y'.repeat(20_000)}`,
          'Content-Type: multipart/mixed; boundary=inner',
        ),
      ),
    })
    .map(({ name, filename, content, header }) =>
      Buffer.concat([
        Buffer.from(`Content-Disposition: form-data; name="${name}"${filename === null ? '' : `; filename="${filename}"`}\r\n`),
        Buffer.from(header === null ? '\r\n' : `${header}\r\n\r\n`),
        Buffer.from(content as string),
        Buffer.from('\r\n'),
      ]),
    )
const createValidUpload = (known: KnownObjects, content: Buffer, filename: string) => [
  Buffer.from(`Content-Disposition: form-data; name="context"\r\n\r\n${known.contextKey}\r\n`),
  Buffer.concat([
    Buffer.from(`Content-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ]),
]
const createMultipartBody = (known: KnownObjects): fc.Arbitrary<Body> =>
  fc
    .record({
      boundary: fc.constantFrom('b', 'x'.repeat(70), "a'()+_,-./:=?", '--', 'y'.repeat(200)),
      claimed: fc.option(fc.constantFrom('', 'other', '"unclosed', 'b; charset=utf-7')),
      parts: fc.oneof(
        fc.array(createPart(known), { maxLength: 4 }),
        fc.array(createPart(known), { minLength: 20, maxLength: 25 }),
        fc
          .tuple(fc.constantFrom(...contents), fc.constantFrom('a.txt', 'a.png', 'a.pdf', 'a.exe'))
          .map(([content, name]) => createValidUpload(known, content, name)),
      ),
      cut: fc.option(fc.nat(400)),
    })
    .map(({ boundary, claimed, parts, cut }) => {
      const complete = Buffer.concat([
        ...parts.flatMap((chunk) => [Buffer.from(`--${boundary}\r\n`), chunk]),
        Buffer.from(`--${boundary}--\r\n`),
      ])
      return {
        bytes: cut === null ? complete : complete.subarray(0, cut),
        type: `multipart/form-data; boundary=${claimed ?? boundary}`,
      }
    })

const createBody = (known: KnownObjects): fc.Arbitrary<Body | undefined> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 5, arbitrary: members.map((text) => ({ bytes: Buffer.from(text), type: 'application/json' })) },
    { weight: 2, arbitrary: graphqlBody.map((text) => ({ bytes: Buffer.from(text), type: 'application/json' })) },
    { weight: 5, arbitrary: createMultipartBody(known) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.uint8Array({ maxLength: 200 }),
          fc.option(
            fc.constantFrom(
              'application/json',
              'text/plain',
              'multipart/form-data',
              '\u00ff',
              'application/json; charset=utf-16',
              'multipart/form-data; boundary=',
            ),
          ),
        )
        .map(([bytes, type]) => ({ bytes: Buffer.from(bytes), type: type ?? undefined })),
    },
  )

const header = fc.constantFrom<[string, string]>(
  ['Accept', 'application/problem+json'],
  ['Accept', 'text/html'],
  ['Accept', '\u00ff;q=x'],
  ['Idempotency-Key', 'again'],
  ['Idempotency-Key', '\u00e9'],
  ['Idempotency-Key', 'x'.repeat(300)],
  ['Expect', '100-continue'],
  ['Expect', 'the-unexpected'],
  ['Content-Encoding', 'gzip'],
  ['User-Agent', '\u00ff\u0080 '.repeat(300)],
  ['X-Forwarded-For', '1.2.3.4, nonsense'],
  ['Apollo-Require-Preflight', 'true'],
  ['Origin', 'https://evil.example'],
  ['Range', 'bytes=0-'],
  ['If-None-Match', '*'],
  ['Connection', 'upgrade'],
  ['Upgrade', 'websocket'],
  ['X-Huge', 'h'.repeat(12_000)],
  ['X-Huger', 'h'.repeat(40_000)],
  ['Cookie', '='.repeat(500)],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Authorization', 'Bearer second'],
)

const methods = ['GET', 'POST', 'PATCH', 'DELETE']
const oddMethods = ['PUT', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY', 'SEARCH', 'get', 'BREW', 'CONNECT']

export const createHostileRequest = (known: KnownObjects): fc.Arbitrary<RawRequest> =>
  fc
    .record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...methods) },
        { weight: 1, arbitrary: fc.constantFrom(...oddMethods) },
      ),
      target: createTarget(known),
      credential: fc.option(fc.constantFrom(...known.credentials), { freq: 8 }),
      extra: fc.array(header, { maxLength: 2 }),
      body: createBody(known),
      length: fc.constantFrom('right', 'right', 'right', 'right', 'chunked', 'none', 'wrong'),
      host: fc.constantFrom('a', 'a', 'a', 'a', 'a', 'a', undefined, '', 'x y', '[::1'),
    })
    .map(({ method, target: at, credential, extra, body: sent, length, host }) => {
      const headers: [string, string][] = host === undefined ? [] : [['Host', host]]
      if (credential !== null) headers.push(['Authorization', credential])
      headers.push(...extra)
      if (sent?.type !== undefined) headers.push(['Content-Type', sent.type])
      let bytes = sent?.bytes
      if (bytes && length === 'chunked') {
        headers.push(['Transfer-Encoding', 'chunked'])
        bytes = Buffer.concat([
          Buffer.from(`${bytes.length.toString(16)}\r\n`),
          bytes,
          Buffer.from(bytes.length === 0 ? '\r\n' : '\r\n0\r\n\r\n'),
        ])
      } else if (bytes && length === 'wrong') headers.push(['Content-Length', `-${bytes.length}`])
      else if (bytes && length !== 'none') headers.push(['Content-Length', String(bytes.length)])
      else bytes = undefined
      return { method, target: at, headers, ...(bytes && { body: bytes }) }
    })
