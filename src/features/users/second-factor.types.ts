import { Field, ObjectType } from 'type-graphql'

@ObjectType({ simpleResolvers: true, description: 'A second factor that is not in use before a code of it is confirmed.' })
export class SecondFactorSetUp {
  @Field(() => String, { description: 'The secret in base32, to be typed into an authenticator app.' })
  secret!: string
  @Field(() => String, { description: 'The same as otpauth://…, to be scanned as a QR code.' })
  uri!: string
}

@ObjectType({ simpleResolvers: true, description: 'A second factor that is in use.' })
export class ConfirmedSecondFactor {
  @Field(() => [String], { description: 'Each signs in once where the authenticator is lost. Shown this once.' })
  recoveryCodes!: string[]
}
