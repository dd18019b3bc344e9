import { readFileSync } from 'node:fs'
import type { GraphQLSchema } from 'graphql'
import { scopes } from '../../platform/actor.js'
import { loadOperations } from '../rest/operations.js'
import { routes } from '../rest/routes.js'
import { ErrorResponses } from './errors.js'
import { describeExports } from './exports.js'
import { describeLog } from './log.js'
import { DescribedOperation, type Shared } from './operation.js'
import { type Json, NamedSchemas } from './schemas.js'

export const apiPrefix = '/api/v1'

/** The OpenAPI 3.1 document: derived from the route table, the stored documents and the schema, so that it cannot differ from them. */
export function openApiDocument(schema: GraphQLSchema): Json {
  const named = new NamedSchemas()
  const shared: Shared = { schema, named, errors: new ErrorResponses(named) }
  const operations = loadOperations(schema)
  const describedBy = (name: string) => new DescribedOperation(shared, operations.get(name)!)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = (paths[apiPrefix + route.path] ??= {})
    path[route.method.toLowerCase()] = { tags: [tagOf(route.path)], ...describedBy(route.operation).describe(route) }
  }
  const streams = { ...describeExports(describedBy), ...describeLog(describedBy('ListLogShares')) }
  for (const [path, operation] of Object.entries(streams))
    paths[apiPrefix + path] = { get: { tags: [tagOf(path)], ...operation } }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version: packageVersion(),
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

const introduction = `File storage that tests every file before it keeps it.

Every answer is JSON, in one of two envelopes: \`status\` is \`SUCCESS\` or \`ERROR\`. A failure carries \`error.code\`, which never changes its meaning, and \`error.details\`. With \`Accept: application/problem+json\` failures come as RFC 9457. An unknown path is 404 \`not_found\`, another method 405 \`method_not_allowed\` with \`Allow\`; wherever there is GET there is HEAD. Times are ISO 8601 in UTC.

Files that are large, or whose way is bad, can be sent in several requests at \`/api/v1/uploads\`: the tus protocol 1.0.0 (https://tus.io), for which there are clients in every language. A broken connection then costs a moment. Scope \`upload\`; \`Upload-Metadata\` has \`filename\`, \`context\` and, as JSON, \`metadata\`; the answer to the last byte is that of \`POST /api/v1/files/upload\`: 204 with \`Assay-File-Id\`, or the refusal.

The same is served as GraphQL at \`/graphql\`.`

const tags: Record<string, string> = {
  'api-keys': 'Who may call, and what.',
  contexts: 'Sets of upload rules.',
  files: 'Upload, test, find, hand out and delete files.',
  holds: 'What nothing may delete.',
  trash: 'Files that were deleted and can be restored.',
  stats: 'Statistics, charts and the call log.',
  quarantine: 'Files in which a virus was found after they were uploaded.',
  'audit-logs': 'Who changed what.',
  events: 'What changed and what was judged, in order, as it happens.',
  webhooks: 'Where events are sent, signed as Standard Webhooks says.',
  calls: 'What came of single uploads.',
  log: 'The journal as a transparency log: what proves that no record was changed.',
  tenant: 'The tenant that the credential belongs to.',
}

const tagOf = (path: string): string => path.split('/')[1]!

const bearer: Json = {
  type: 'http',
  scheme: 'bearer',
  description: `An API key (\`assay_…\`), or a dashboard user's token from GraphQL's \`signIn\`. Scopes: ${scopes.join(', ')}; \`admin\` implies the others.`,
}

const parameters: Record<string, Json> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same request twice under one key is done once: for 24 hours the first answer is given again.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
}

const header = (description: string, schema: Json): Json => ({ description, schema })

const headers: Record<string, Json> = {
  Link: {
    required: false,
    ...header(
      'The next page, where there is one: `</api/v1/files?page=2&after=…>; rel="next"`. It begins behind the last item of this one, so that following these links neither repeats nor skips an item, whatever is added or removed meanwhile.',
      { type: 'string', pattern: '^<[^>]+>; rel="next"$' },
    ),
  },
  'X-Request-Id': header('The request: in the logs, and in failures.', { type: 'string', pattern: '^req_[0-9a-z]{26}$' }),
  RateLimit: header('What is left of the limit that is closest: `"key";r=119999;t=60`.', { type: 'string' }),
  'RateLimit-Policy': header('That limit: `"key";q=120000;w=60`.', { type: 'string' }),
  'Retry-After': header('Seconds after which trying again makes sense.', { type: 'string', pattern: '^\\d+$' }),
  'Content-Disposition': header('A file name to save it under.', { type: 'string', pattern: '^attachment;' }),
  'WWW-Authenticate': header('`Bearer`.', { type: 'string' }),
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
