import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { AsNodeId } from '../../api/graphql/node.js'
import { createPageType, PageArgs } from '../../api/graphql/page.js'

@ObjectType({ simpleResolvers: true, description: 'An open session of a dashboard user.' })
export class UserSession {
  @AsNodeId()
  @Field(() => ID, { description: 'ID of the session: `ses_` followed by a ULID.' })
  sessionId!: string
  @Field(() => Date, { description: 'Time at which the user signed in.' })
  createdAt!: Date
  @Field(() => Date, { description: 'Time at which the session expires.' })
  expiresAt!: Date
  @Field(() => String, { description: 'IP address from which the user signed in.' })
  ipAddress!: string
  @Field(() => String, { description: '`User-Agent` header sent at sign-in.' })
  userAgent!: string
  @Field(() => Boolean, { description: 'True if the request was made in this session.' })
  isCurrent!: boolean
}

export const UserSessionPage = createPageType(UserSession, 'UserSession')

@ArgsType()
export class UserSessionsArgs extends PageArgs {
  @Field(() => ID, { description: 'ID of the user: `usr_` followed by a ULID.' })
  userId!: string
}
