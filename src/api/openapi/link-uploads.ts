import { routes } from '../rest/routes.js'
import { toExample } from './examples.js'
import { type DescribedOperation, successHeaders } from './operation.js'
import type { Json, NamedSchemas } from './schemas.js'

const token: Json = {
  name: 'token',
  in: 'path',
  description: 'Secret token of the upload link, from the `url` of the response that created it.',
  required: true,
  schema: { type: 'string', pattern: '^ulk_[0-9a-z]{26}_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$' },
}

const filename: Json = {
  name: 'filename',
  in: 'path',
  description: 'Percent-encoded name of the file.',
  required: true,
  schema: { type: 'string', minLength: 1 },
}

const idempotencyKey: Json = { $ref: '#/components/parameters/Idempotency-Key' }
const shared = { tags: ['upload'], security: [], 'x-required-scope': null }
const invalid =
  'A token that is unknown, expired, used up or revoked returns 404 `not_found`. Browsers may send the request from any origin, or from the `origins` of the link.'

const integerSchema = (description: string): Json => ({ type: 'integer', format: 'int32', description })

const rules: Json = {
  allowed_extensions: { type: 'array', items: { type: 'string' }, description: 'Extensions that the link allows.' },
  max_size_mb: integerSchema('Maximum file size in MB.'),
  max_files: integerSchema('Number of files that the link accepts.'),
  remaining: integerSchema('Number of files that can still be uploaded through the link.'),
  expires_at: { type: 'string', format: 'date-time', description: 'Time at which the link expires.' },
  display_name: { type: 'string', description: 'Display name of the context.' },
}

const closedObject = (properties: Json): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** Describes the endpoints of upload links. */
export function describeLinkUploads(named: NamedSchemas, upload: DescribedOperation): Record<string, Json> {
  const byKey = upload.describe(routes.find(({ operation }) => operation === upload.name)!) as { responses: Record<string, Json> }
  const { 401: _credential, ...responses } = byKey.responses
  return {
    '/upload/{token}': { get: describeRules(named, upload), post: describeForm(responses) },
    '/upload/{token}/{filename}': { put: describeBody(responses) },
  }
}

const describeRules = (named: NamedSchemas, upload: DescribedOperation): Json => {
  const { 401: _credential, ...errors } = upload.getErrorResponses({
    operation: 'GetLinkRules',
    idempotent: false,
    judged: false,
    named: true,
  })
  const schema = closedObject({
    status: { const: 'SUCCESS' },
    data: named.reference('UploadLinkRules', () => closedObject(rules)),
    timestamp: { type: 'string', format: 'date-time' },
  })
  return {
    ...shared,
    operationId: 'getLinkRules',
    summary: 'Get the rules of an upload link',
    description: `Returns rules that a client can check before uploading. Browsers (\`Accept: text/html\`) get an upload page instead.\n\n${invalid}`,
    parameters: [token],
    responses: {
      200: {
        description: 'Rules of the upload link.',
        headers: successHeaders,
        content: { 'application/json': { schema, example: toExample(named, schema) } },
      },
      ...errors,
    },
  }
}

const describeForm = (responses: Json): Json => ({
  ...shared,
  operationId: 'uploadFormThroughLink',
  summary: 'Upload form data through a link',
  description: `Validates and stores the file in a form, like \`POST /api/v1/files/upload\`.\n\n${invalid}`,
  parameters: [token, idempotencyKey],
  requestBody: {
    required: true,
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          properties: {
            file: { type: 'string', contentMediaType: 'application/octet-stream', description: 'The file to upload.' },
            metadata: {
              type: 'object',
              additionalProperties: true,
              description: 'Custom key/value pairs. Pairs of the link take precedence.',
            },
          },
          required: ['file'],
          additionalProperties: false,
        },
        encoding: { metadata: { contentType: 'application/json' } },
        example: { file: 'Content of invoice-4711.pdf', metadata: { order: 4711 } },
      },
    },
  },
  responses,
})

const describeBody = (responses: Json): Json => ({
  ...shared,
  operationId: 'uploadThroughLink',
  summary: 'Upload a file through a link',
  description: `Validates and stores the request body as one file. For large files, \`/upload/{token}/tus\` implements tus 1.0.0.\n\n${invalid}`,
  parameters: [token, filename, idempotencyKey],
  requestBody: {
    required: true,
    content: { 'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } } },
  },
  responses,
})
