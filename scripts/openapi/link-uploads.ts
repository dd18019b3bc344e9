import { routes } from '../../src/api/rest/routes.js'
import { createExample } from './examples.js'
import { createEnvelope, type DescribedOperation } from './operation.js'
import { createClosedObjectSchema, type Json, type NamedSchemas } from './schemas.js'

const token: Json = {
  name: 'token',
  in: 'path',
  description: 'Secret token of the upload link, as contained in the `url` that was returned when the link was created.',
  required: true,
  schema: { type: 'string', pattern: '^ulk_[0-9a-z]{26}_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$' },
}

const filename: Json = {
  name: 'filename',
  in: 'path',
  description: 'File name of the upload, percent-encoded.',
  required: true,
  schema: { type: 'string', minLength: 1 },
}

const idempotencyKey: Json = { $ref: '#/components/parameters/Idempotency-Key' }
const shared = { tags: ['upload'], security: [], 'x-required-scope': null }
const invalid =
  'A token that is unknown, expired, used up or revoked returns 404 `not_found`. Browsers may send the request from any origin, or from the `origins` of the link.'

export function describeLinkUploads(schemas: NamedSchemas, upload: DescribedOperation): Record<string, Json> {
  const route = routes.find(({ operation }) => operation === upload.name)!
  const { 401: _credential, ...responses } = upload.describe(route).responses as Record<string, Json>
  const form: Json = {
    ...shared,
    operationId: 'uploadFormThroughLink',
    summary: 'Upload form data through a link',
    description: `Validates and stores the file in a form, like \`POST /api/v1/files/upload\`. Key/value pairs in the link's metadata take precedence.\n\n${invalid}`,
    parameters: [token, idempotencyKey],
    requestBody: upload.createRequestBody(
      route,
      upload.inputs.filter(({ name }) => name !== 'context'),
      'UploadThroughLinkBody',
    ),
    responses,
  }
  const body: Json = {
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
  }
  return {
    '/upload/{token}': { get: describeRules(schemas, upload), post: form },
    '/upload/{token}/{filename}': { put: body },
  }
}

function describeRules(schemas: NamedSchemas, upload: DescribedOperation): Json {
  const { allowed_extensions, max_size_mb, max_files, expires_at } = schemas.all.UploadLink!.properties as Record<string, Json>
  const rules = schemas.getReference('UploadLinkRules', () =>
    createClosedObjectSchema({
      allowed_extensions: allowed_extensions!,
      max_size_mb: max_size_mb!,
      max_files: max_files!,
      remaining: {
        type: 'integer',
        format: 'int32',
        description: 'Number of files that can still be uploaded through the link.',
      },
      expires_at: expires_at!,
      display_name: { type: 'string', description: 'Display name of the context.' },
    }),
  )
  const schema = createEnvelope({}, rules)
  const described = upload.describeEndpoint({
    operationId: 'getLinkRules',
    summary: 'Get the rules of an upload link',
    description: [
      'Returns rules that a client can check before uploading. Browsers (`Accept: text/html`) get an upload page instead.',
      invalid,
    ],
    parameters: [token],
    response: 'Rules of the upload link.',
    content: { 'application/json': { schema, example: createExample(schemas, schema) } },
    facts: { hasResourceId: true, isPublic: true },
  })
  return { ...described, ...shared }
}
