import { ID } from 'type-graphql'
import { createPageType, PageArgs } from '../../api/graphql/page.js'
import { extendArgs, field, nodeId, objectType } from '../../api/graphql/type-declarations.js'

export const UserSession = objectType('UserSession', 'An open session of a dashboard user.', {
  sessionId: nodeId('ID of the session: `ses_` followed by a ULID.'),
  createdAt: field(Date, 'Time at which the user signed in.'),
  expiresAt: field(Date, 'Time at which the session expires.'),
  ipAddress: field(String, 'IP address from which the user signed in.'),
  userAgent: field(String, '`User-Agent` header sent at sign-in.'),
  isCurrent: field(Boolean, 'True if the request was made in this session.'),
})
export type UserSession = InstanceType<typeof UserSession>

export const UserSessionPage = createPageType(UserSession, 'UserSession')

export const UserSessionsArgs = extendArgs(PageArgs, {
  userId: field(ID, 'ID of the user: `usr_` followed by a ULID.'),
})
export type UserSessionsArgs = InstanceType<typeof UserSessionsArgs>
