import { Field, ObjectType } from 'type-graphql'

@ObjectType({ simpleResolvers: true, description: 'A second factor that has no effect until its first code is confirmed.' })
export class SecondFactorSetUp {
  @Field(() => String, { description: 'Secret in base32, for manual entry in an authenticator app.' })
  secret!: string
  @Field(() => String, { description: 'Secret as an `otpauth://` URI, for a QR code.' })
  uri!: string
}

@ObjectType({ simpleResolvers: true, description: 'A second factor that was enabled.' })
export class ConfirmedSecondFactor {
  @Field(() => [String], {
    description: 'Single-use recovery codes, each of which replaces the authenticator once. They are returned only once.',
  })
  recoveryCodes!: string[]
}
