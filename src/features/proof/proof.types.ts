import { ArgsType, Field, ID, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import { IntegerRange } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@OutputType('A signed receipt that proves the verdict on a file, even after the file is deleted.')
export class FileReceipt {
  @Field(
    () => String,
    'Receipt as a compact JWS (EdDSA). Verify it with `npm run verify`, or with any JWS library and the keys from `/.well-known/jwks.json`.',
  )
  receipt!: string
}

@ArgsType()
export class ReceiptArgs {
  @NullableField(() => ID, 'ID of the stored file: `file_` followed by a ULID.')
  fileId?: string | null
  @NullableField(
    () => ID,
    'ID of the upload call: `call_` followed by a ULID. If the service rejected the upload of a dashboard user, the ID of the event: `evt_` followed by a ULID.',
  )
  callId?: string | null
}

@OutputType('A signed checkpoint of the transparency log. It covers all changes confirmed before the request.')
export class LogCheckpoint {
  @Field(() => String, 'Name of the log, which is also the name of its signing key.')
  origin!: string
  @Field(() => LongScalar, 'Number of entries in the log.')
  size!: number
  @Field(() => String, 'Root hash of the Merkle tree over all entries (RFC 6962), in base64.')
  rootHash!: string
  @Field(() => String, 'Checkpoint as a signed note (C2SP tlog-checkpoint). Store it to detect later tampering with the log.')
  checkpoint!: string
  @Field(() => String, 'Verifier key in signed-note format: `name+hash+base64`.')
  verifierKey!: string
}

@OutputType('An access token for the transparency log, without its secret.')
export class LogShare {
  @AsNodeId()
  @Field(() => ID, 'ID of the access token: `shr_` followed by a ULID.')
  shareId!: string
  @Field(() => ID, 'ID of the API key (`key_`) or user (`usr_`) that created the token.')
  createdBy!: string
  @Field(() => Date, 'Time at which the access token was created.')
  createdAt!: Date
  @Field(() => Date, 'Time at which the access token expires.')
  expiresAt!: Date
}

@OutputType('A new access token for the transparency log with its secret, which is returned only once.')
export class NewLogShare {
  @Field(() => ID, 'ID of the access token: `shr_` followed by a ULID.')
  shareId!: string
  @Field(
    () => String,
    'Bearer token that grants read access to `/api/v1/log`. Send it in the `Authorization` header. It is returned only once.',
  )
  token!: string
  @Field(() => Date, 'Time at which the access token expires.')
  expiresAt!: Date
}

export const LogSharePage = createPageType(LogShare, 'LogShare')

@ArgsType()
export class ShareLogArgs {
  @Field(() => Int, 'Number of days until the access token expires, 1 to 365.', { defaultValue: 90 })
  @IntegerRange(1, 365)
  days!: number
}
