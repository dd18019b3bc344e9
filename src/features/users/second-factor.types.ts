import { Field, ObjectType } from 'type-graphql'

@ObjectType({ simpleResolvers: true, description: 'A new second factor. It has no effect until its first code is confirmed.' })
export class SecondFactorSetUp {
  @Field(() => String, { description: 'Secret in base32, for manual entry in an authenticator app.' })
  secret!: string
  @Field(() => String, { description: 'Secret as an `otpauth://` URI, for a QR code.' })
  uri!: string
}

@ObjectType({ simpleResolvers: true, description: 'A newly enabled second factor.' })
export class ConfirmedSecondFactor {
  @Field(() => [String], {
    description: 'Single-use recovery codes for signing in without the authenticator app. Only this response contains them.',
  })
  recoveryCodes!: string[]
}
