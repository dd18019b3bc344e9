import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { pageType } from '../../api/graphql/page.js'
import { Prose } from '../../api/graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'What keeps a file from being deleted, from expiring and from being purged.' })
export class Hold {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'Why it is held.' })
  reason!: string
  @Field(() => ID, { description: 'Who holds it: usr_…, key_… or system.' })
  heldBy!: string
  @Field(() => Date, { description: 'Since when.' })
  heldAt!: Date
}

@ObjectType({ simpleResolvers: true, description: 'A hold that was lifted.' })
export class LiftedHold {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
}

export const HoldPage = pageType(Hold, 'Hold')

@ArgsType()
export class HoldFileArgs {
  @Field(() => ID, { description: 'Shape file_….' })
  fileId!: string
  @Field(() => String, { description: 'Why it is held: 1 to 1024 characters.' })
  @Prose(1, 1024)
  reason!: string
}
