import { ID, Int } from 'type-graphql'
import { createPageType } from '../../api/graphql/page.js'
import { IntegerRange } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'
import { argsType, field, nodeId, objectType, optional, withDefault } from '../../api/graphql/type-declarations.js'

export const FileReceipt = objectType(
  'FileReceipt',
  'A signed receipt that proves the verdict on a file, even after the file is deleted.',
  {
    receipt: field(
      String,
      'Receipt as a compact JWS (EdDSA). Verify it with `npm run verify`, or with any JWS library and the keys from `/.well-known/jwks.json`.',
    ),
  },
)

export const ReceiptArgs = argsType({
  fileId: optional(ID, 'ID of the stored file: `file_` followed by a ULID.'),
  callId: optional(
    ID,
    'ID of the upload call: `call_` followed by a ULID. If the service rejected the upload of a dashboard user, the ID of the event: `evt_` followed by a ULID.',
  ),
})
export type ReceiptArgs = InstanceType<typeof ReceiptArgs>

export const LogCheckpoint = objectType(
  'LogCheckpoint',
  'A signed checkpoint of the transparency log. It covers all changes confirmed before the request.',
  {
    origin: field(String, 'Name of the log, which is also the name of its signing key.'),
    size: field(LongScalar, 'Number of entries in the log.'),
    rootHash: field(String, 'Root hash of the Merkle tree over all entries (RFC 6962), in base64.'),
    checkpoint: field(
      String,
      'Checkpoint as a signed note (C2SP tlog-checkpoint). Store it to detect later tampering with the log.',
    ),
    verifierKey: field(String, 'Verifier key in signed-note format: `name+hash+base64`.'),
  },
)
export type LogCheckpoint = InstanceType<typeof LogCheckpoint>

export const LogShare = objectType('LogShare', 'An access token for the transparency log, without its secret.', {
  shareId: nodeId('ID of the access token: `shr_` followed by a ULID.'),
  createdBy: field(ID, 'ID of the API key (`key_`) or user (`usr_`) that created the token.'),
  createdAt: field(Date, 'Time at which the access token was created.'),
  expiresAt: field(Date, 'Time at which the access token expires.'),
})
export type LogShare = InstanceType<typeof LogShare>

export const NewLogShare = objectType(
  'NewLogShare',
  'A new access token for the transparency log with its secret, which is returned only once.',
  {
    shareId: field(ID, 'ID of the access token: `shr_` followed by a ULID.'),
    token: field(
      String,
      'Bearer token that grants read access to `/api/v1/log`. Send it in the `Authorization` header. It is returned only once.',
    ),
    expiresAt: field(Date, 'Time at which the access token expires.'),
  },
)
export type NewLogShare = InstanceType<typeof NewLogShare>

export const LogSharePage = createPageType(LogShare, 'LogShare')

export const ShareLogArgs = argsType({
  days: withDefault(Int, 90, 'Number of days until the access token expires, 1 to 365.', IntegerRange(1, 365)),
})
export type ShareLogArgs = InstanceType<typeof ShareLogArgs>
