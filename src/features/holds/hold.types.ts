import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType } from '../../api/graphql/page.js'
import { MultiLineText } from '../../api/graphql/rules.js'

@ObjectType({ simpleResolvers: true, description: 'A hold on a file, which prevents its deletion, expiry and purging.' })
export class Hold {
  @AsNodeId()
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'Reason for the hold, 1 to 1,024 characters.' })
  reason!: string
  @Field(() => ID, { description: 'ID of the user or API key that set the hold, or `system`.' })
  heldBy!: string
  @Field(() => Date, { description: 'Time at which the hold was set.' })
  heldAt!: Date
}

@ObjectType({ simpleResolvers: true, description: 'A hold that was released.' })
export class LiftedHold {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
}

export const HoldPage = createPageType(Hold, 'Hold')

@ArgsType()
export class HoldFileArgs {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'Reason for the hold, 1 to 1,024 characters.' })
  @MultiLineText(1, 1024)
  reason!: string
}
