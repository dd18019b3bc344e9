import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { PageArgs, pageType } from '../../api/graphql/page.js'

@ObjectType({ simpleResolvers: true, description: 'A session that has begun and not ended.' })
export class UserSession {
  @AsNodeId()
  @Field(() => ID, { description: 'Shape ses_….' })
  sessionId!: string
  @Field(() => Date, { description: 'When the user signed in.' })
  createdAt!: Date
  @Field(() => Date, { description: 'When it ends by itself.' })
  expiresAt!: Date
  @Field(() => String, { description: 'The address that signed in.' })
  ipAddress!: string
  @Field(() => String, { description: 'The User-Agent that signed in.' })
  userAgent!: string
  @Field(() => Boolean, { description: 'Whether it is the session that asks.' })
  isCurrent!: boolean
}

export const UserSessionPage = pageType(UserSession, 'UserSession')

@ArgsType()
export class UserSessionsArgs extends PageArgs {
  @Field(() => ID, { description: 'Shape usr_….' })
  userId!: string
}
