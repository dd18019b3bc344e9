import { Arg, Args, ID, Int, Mutation, Query, Resolver } from 'type-graphql'
import { UserId } from '../../api/graphql/arguments.js'
import { PageArgs, toPage } from '../../api/graphql/page.js'
import { CurrentActor, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import type { SessionService } from './session.service.js'
import { UserSession, UserSessionPage, UserSessionsArgs } from './session.types.js'

@Resolver(() => UserSession)
export class SessionResolver {
  constructor(private readonly service: SessionService) {}

  @Requires('any')
  @Query(() => UserSessionPage, {
    description: 'Lists the open sessions of the signed-in user, newest first. The list is empty for an API key.',
  })
  mySessions(@CurrentActor() actor: Actor, @Args(() => PageArgs) args: PageArgs) {
    return actor.kind === 'user' ? this.service.list(actor, actor.id, args) : toPage([], 0, args)
  }

  @Requires('any')
  @Mutation(() => Boolean, { description: 'Ends a session of the signed-in user immediately.' })
  async endMySession(
    @CurrentActor() actor: Actor,
    @Arg('sessionId', () => ID, { description: 'ID of the session: `ses_` followed by a ULID.' }) sessionId: string,
  ) {
    return (await this.service.endUserSessions(actor, actor.id, sessionId)) > 0
  }

  @Requires('admin')
  @Query(() => UserSessionPage, { description: 'Lists the open sessions of a dashboard user, newest first.' })
  userSessions(@CurrentActor() actor: Actor, @Args(() => UserSessionsArgs) { userId, ...page }: UserSessionsArgs) {
    return this.service.list(actor, userId, page)
  }

  @Requires('admin')
  @Mutation(() => Int, {
    description: 'Ends one session or all sessions of a dashboard user immediately. Returns the number of ended sessions.',
  })
  endUserSessions(
    @CurrentActor() actor: Actor,
    @UserId() userId: string,
    @Arg('sessionId', () => ID, {
      nullable: true,
      description: 'ID of the session: `ses_` followed by a ULID. Null means all sessions of the user.',
    })
    sessionId?: string,
  ) {
    return this.service.endUserSessions(actor, userId, sessionId ?? undefined)
  }
}
