import { type DescribedOperation, successHeaders } from './operation.js'
import type { Json } from './schemas.js'

interface Resource {
  summary: string
  operationId: string
  sentence: string
  description: string
  contentType: string
  schema: Json
  parameters?: Json[]
}

const text: Json = { type: 'string' }

// No documents: their answers are those that C2SP's specifications say, byte for byte.
const resources: Record<string, Resource> = {
  '/log/checkpoint': {
    summary: 'Get the signed state of the log',
    operationId: 'getLogCheckpoint',
    sentence: 'Everything that was answered before is in it (https://c2sp.org/tlog-checkpoint).',
    description: 'A signed note: the name of the log, its size, its root hash in base64, and below them the signature.',
    contentType: 'text/plain',
    schema: text,
  },
  '/log/key': {
    summary: 'Get the key of the log',
    operationId: 'getLogKey',
    sentence: 'The verifier key of its checkpoints (https://c2sp.org/signed-note). The same key is in /.well-known/jwks.json.',
    description: '`name+hash+base64`.',
    contentType: 'text/plain',
    schema: text,
  },
  '/log/tile/{tile}': {
    summary: 'Get a tile of the log',
    operationId: 'getLogTile',
    sentence:
      'Hashes, or the entries themselves: each event as canonical JSON (RFC 8785) behind its length in two bytes (https://c2sp.org/tlog-tiles). It never changes.',
    description: 'The tile. One that reaches beyond the end of the log is 404.',
    contentType: 'application/octet-stream',
    schema: { type: 'string', contentMediaType: 'application/octet-stream' },
    parameters: [
      {
        name: 'tile',
        in: 'path',
        description:
          '`0/x001/234`, `entries/000`, or the first so many of one: `0/x001/234.p/17`. Its slashes are sent as they are.',
        required: true,
        schema: { type: 'string', pattern: '^(entries|\\d{1,2})/(x\\d{3}/)*\\d{3}(\\.p/\\d{1,3})?$' },
      },
    ],
  },
}

/** The log as its clients read it. Asked by an admin, or with a token of POST /log/share. */
export function describeLog(shares: DescribedOperation): Record<string, Json> {
  return Object.fromEntries(Object.entries(resources).map(([path, resource]) => [path, describe(shares, resource)]))
}

const describe = (
  shares: DescribedOperation,
  { summary, sentence, operationId, description, contentType, schema, parameters = [] }: Resource,
): Json => ({
  ...shares.head(summary, [sentence, 'Not for a key that is restricted to some contexts. A token of `POST /log/share` will do.']),
  operationId,
  parameters,
  responses: {
    200: { description, headers: successHeaders, content: { [contentType]: { schema } } },
    ...shares.refusals({ operation: operationId, idempotent: false, judged: false, named: parameters.length > 0 }),
  },
})
