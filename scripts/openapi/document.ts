import type { GraphQLSchema } from 'graphql'
import { loadOperations } from '../../src/api/rest/operations.js'
import { routes } from '../../src/api/rest/routes.js'
import { scopes } from '../../src/platform/actor.js'
import { ErrorResponses } from './errors.js'
import { describeExports } from './exports.js'
import { describeLinkUploads } from './link-uploads.js'
import { describeLog } from './log.js'
import { DescribedOperation, type Shared } from './operation.js'
import { type Json, NamedSchemas } from './schemas.js'

const apiPrefix = '/api/v1'

/** Creates the OpenAPI 3.1 document from the route table, the stored documents and the schema. */
export function createOpenApiDocument(schema: GraphQLSchema, version: string): Json {
  const named = new NamedSchemas()
  const shared: Shared = { schema, named, errors: new ErrorResponses(named) }
  const operations = loadOperations(schema)
  const getOperation = (name: string) => new DescribedOperation(shared, operations.get(name)!)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = (paths[apiPrefix + route.path] ??= {})
    path[route.method.toLowerCase()] = { tags: [getTag(route.path)], ...getOperation(route.operation).describe(route) }
  }
  const streams = { ...describeExports(getOperation), ...describeLog(getOperation('ListLogShares')) }
  for (const [path, operation] of Object.entries(streams))
    paths[apiPrefix + path] = { get: { tags: [getTag(path)], ...operation } }
  Object.assign(paths, describeLinkUploads(named, getOperation('UploadFile')))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version,
      description: introduction,
      contact: { name: 'The operator of this service' },
    },
    servers: [{ url: '/' }],
    tags: Object.keys(tags).map((name) => ({ name, description: tags[name] })),
    paths,
    components: {
      schemas: shared.named.all,
      responses: shared.errors.all,
      parameters,
      headers,
      securitySchemes: { bearer },
    },
    security: [{ bearer: [] }],
  }
}

const introduction = `Assay validates files against the rules of a context before it stores them.

**Responses.** Every response is JSON. \`status\` is \`SUCCESS\` or \`ERROR\`. An error contains \`error.code\`, which programs can rely on, and \`error.details\`. With \`Accept: application/problem+json\`, errors follow RFC 9457. An unknown path returns 404 \`not_found\`. An unsupported method returns 405 \`method_not_allowed\` with \`Allow\`. Each GET endpoint also supports HEAD. Times are ISO 8601 in UTC.

**Resumable uploads.** \`/api/v1/uploads\` implements tus 1.0.0 (https://tus.io), for large files and unreliable connections. It requires scope \`upload\`. \`Upload-Metadata\` contains \`filename\`, \`context\` and optionally \`metadata\` (JSON). The request with the last byte returns 204 with \`Assay-File-Id\`, or the same error as \`POST /api/v1/files/upload\`.

**GraphQL.** \`/graphql\` provides the same operations.`

const tags: Record<string, string> = {
  'api-keys': 'Create, list, rotate and revoke API keys.',
  contexts: 'Manage contexts: sets of upload rules, with their policies and versions.',
  files: 'Upload, check, list, download and delete files.',
  holds: 'List files on hold, which cannot be deleted.',
  trash: 'List, restore and purge deleted files.',
  stats: 'Read statistics, charts and the call log.',
  quarantine: 'Manage stored files in which a later scan found a virus.',
  'audit-logs': 'List changes to the tenant, with the users and API keys that made them.',
  events: 'Read changes and verdicts in commit order, as a list or a stream.',
  webhooks: 'Deliver events by HTTP, signed as specified by Standard Webhooks.',
  'upload-links': 'Create, list and revoke links through which browsers and devices upload files without an API key.',
  upload: 'Upload files through an upload link. The token in the path is the only credential.',
  calls: 'Get the receipts of upload calls.',
  log: 'Read the journal as a transparency log, which proves that no entry was changed.',
  tenant: 'Read and update the tenant that the credential belongs to.',
}

const getTag = (path: string): string => path.split('/')[1]!

const bearer: Json = {
  type: 'http',
  scheme: 'bearer',
  description: `An API key (\`assay_…\`), or a session token from the GraphQL mutation \`signIn\`. Scopes: ${scopes.join(', ')}. The scope \`admin\` includes all others.`,
}

const parameters: Record<string, Json> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Key of up to 255 visible ASCII characters. For 24 hours, a repeated request with the same key returns the stored response.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
}

const createHeader = (description: string, schema: Json): Json => ({ description, schema })

const headers: Record<string, Json> = {
  Link: {
    required: false,
    ...createHeader(
      'Link to the next page, if one exists: `</api/v1/files?page=2&after=…>; rel="next"`. Following these links never repeats or skips an item, even if items are added or removed in the meantime.',
      { type: 'string', pattern: '^<[^>]+>; rel="next"$' },
    ),
  },
  'X-Request-Id': createHeader('Request ID, which also appears in the service log and in error responses.', {
    type: 'string',
    pattern: '^req_[0-9a-z]{26}$',
  }),
  RateLimit: createHeader(
    'Remaining requests (`r`) and seconds until the reset (`t`) of the limit that will be reached first: `"key";r=119999;t=60`.',
    { type: 'string' },
  ),
  'RateLimit-Policy': createHeader('Maximum requests (`q`) per window of `w` seconds for that limit: `"key";q=120000;w=60`.', {
    type: 'string',
  }),
  'Retry-After': createHeader('Number of seconds to wait before a retry.', { type: 'string', pattern: '^\\d+$' }),
  'Content-Disposition': createHeader('Suggested file name for the download.', { type: 'string', pattern: '^attachment;' }),
  'WWW-Authenticate': createHeader('Required authentication scheme: `Bearer`.', { type: 'string' }),
}
