import type { DescribedEndpoint, DescribedOperation } from './operation.js'
import type { Json } from './schemas.js'

const logName = 'files.example.com/log/ten_01kqzv6y8xw3f5t2n7m4c9d1b0'

// Log endpoints run no GraphQL document. The C2SP specifications define each byte of their responses.
const resources: Record<string, Omit<DescribedEndpoint, 'description' | 'facts'> & { sentence: string }> = {
  '/log/checkpoint': {
    summary: 'Get the log checkpoint',
    operationId: 'getLogCheckpoint',
    sentence:
      'Returns the signed checkpoint of the transparency log. It covers all changes confirmed before the request (https://c2sp.org/tlog-checkpoint).',
    response: "Signed note that contains the log's name, number of entries, root hash in base64, and signature.",
    parameters: [],
    content: {
      'text/plain': {
        schema: { type: 'string' },
        example: `${logName}\n4711\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— ${logName} az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n`,
      },
    },
  },
  '/log/key': {
    summary: 'Get the log key',
    operationId: 'getLogKey',
    sentence:
      'Returns the key that verifies checkpoints (https://c2sp.org/signed-note). `/.well-known/jwks.json` contains the same key.',
    response: 'Verifier key in the format `name+hash+base64`.',
    parameters: [],
    content: {
      'text/plain': { schema: { type: 'string' }, example: `${logName}+6b3de0ae+AZxo7Sxc0cV9w2yPzfXVV6vfLPsmMJ1xDkYmGgNGXD6R\n` },
    },
  },
  '/log/tile/{tile}': {
    summary: 'Get a log tile',
    operationId: 'getLogTile',
    sentence:
      'Returns a hash tile or an entry tile (https://c2sp.org/tlog-tiles). An entry is an event as canonical JSON (RFC 8785), preceded by its length in two bytes. Tiles never change.',
    response: 'Tile content. A request for a tile beyond the end of the log returns 404.',
    content: { 'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } } },
    parameters: [
      {
        name: 'tile',
        in: 'path',
        description:
          'Path of a full tile (`0/x001/234`, `entries/000`) or a partial tile (`0/x001/234.p/17`). Slashes are not percent-encoded.',
        required: true,
        schema: { type: 'string', pattern: '^(entries|\\d{1,2})/(x\\d{3}/)*\\d{3}(\\.p/\\d{1,3})?$' },
      },
    ],
  },
}

const access =
  'Requires the `admin` scope, or a token created with `POST /log/share`. Rejects API keys that are restricted to certain contexts.'

/** Describes the log endpoints, which require the `admin` scope or a token from POST /log/share. */
export const describeLog = (listOperation: DescribedOperation): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(resources).map(([path, { sentence, ...resource }]) => [
      path,
      listOperation.describeEndpoint({
        ...resource,
        description: [sentence, access],
        facts: { hasResourceId: resource.parameters.length > 0 },
      }),
    ]),
  )
