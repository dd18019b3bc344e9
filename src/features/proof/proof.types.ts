import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { pageType } from '../../api/graphql/page.js'
import { Whole } from '../../api/graphql/rules.js'
import { LongScalar } from '../../api/graphql/scalars.js'

@ObjectType({ simpleResolvers: true, description: 'What proves a verdict, also when the file is gone.' })
export class FileReceipt {
  @Field(() => String, {
    description: 'A compact JWS (EdDSA): `npm run verify`, or any library, checks it with the keys of /.well-known/jwks.json.',
  })
  receipt!: string
}

@ArgsType()
export class ReceiptArgs {
  @Field(() => ID, { nullable: true, description: 'Shape file_…: the receipt of that file.' })
  fileId?: string | null
  @Field(() => ID, {
    nullable: true,
    description:
      'Shape call_…: the receipt of what that upload was answered; evt_… of what a user was refused. One of the two must be given.',
  })
  callId?: string | null
}

@ObjectType({ simpleResolvers: true, description: 'The state of the tenant’s log: everything answered before is in it.' })
export class LogCheckpoint {
  @Field(() => String, { description: 'The name of the log and of its key.' })
  origin!: string
  @Field(() => LongScalar, { description: 'How many entries it has.' })
  size!: number
  @Field(() => String, { description: 'The hash over all of them (RFC 6962), in base64.' })
  rootHash!: string
  @Field(() => String, { description: 'The signed note (C2SP tlog-checkpoint), as GET /log/checkpoint gives it: keep it.' })
  checkpoint!: string
  @Field(() => String, { description: 'The verifier key, as signed notes write it.' })
  verifierKey!: string
}

@ObjectType({ simpleResolvers: true, description: 'A token that reads the log and nothing else, without the token.' })
export class LogShare {
  @Field(() => ID, { description: 'Shape shr_….' })
  shareId!: string
  @Field(() => ID, { description: 'Who made it: key_… or usr_….' })
  createdBy!: string
  @Field(() => Date, { description: 'When it was made.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it expires.' })
  expiresAt!: Date
}

@ObjectType({ simpleResolvers: true, description: 'A new share with its token, which is shown this once.' })
export class NewLogShare {
  @Field(() => ID, { description: 'Shape shr_….' })
  shareId!: string
  @Field(() => String, { description: 'Sent as `Authorization: Bearer …` it reads /api/v1/log. Shown this once.' })
  token!: string
  @Field(() => Date, { description: 'When it expires.' })
  expiresAt!: Date
}

export const LogSharePage = pageType(LogShare, 'LogShare')

@ArgsType()
export class ShareLogArgs {
  @Field(() => Int, { defaultValue: 90, description: 'For how many days: 1 to 365.' })
  @Whole(1, 365)
  days!: number
}
