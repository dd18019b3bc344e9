import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
})
afterAll(() => world.close())

type Person = Caller & { email: string; password: string }

const getUserId = async (user: Caller) => (await user.graphql('{ me { userId } }')).body.data.me.userId as string
const queryData = async (by: Caller, query: string, variables: object = {}) => {
  const { body } = await by.graphql(query, variables as Record<string, unknown>)
  expect(body.errors).toBeUndefined()
  return body.data
}
async function signIn({ email }: Person, password: string): Promise<Caller | string> {
  const { body } = await world.unauthenticated.graphql(
    'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token } }',
    { email, password },
  )
  return body.data.signIn ? world.createCaller(body.data.signIn.token) : body.errors[0].extensions.code
}
const signInAgain = async (user: Person) => (await signIn(user, user.password)) as Caller
const fields = 'data { sessionId createdAt expiresAt ipAddress userAgent isCurrent } pagination { totalItems }'

describe('disabled users', () => {
  test('ends all sessions of a disabled user permanently', async () => {
    const user = await tenant.createUser(['metadata'])
    const userId = await getUserId(user)
    await queryData(tenant.admin, 'mutation ($userId: ID!) { disableUser(userId: $userId) { status } }', { userId })
    expect(toStatusAndCode(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    await queryData(tenant.admin, 'mutation ($userId: ID!) { enableUser(userId: $userId) { status } }', { userId })
    expect(toStatusAndCode(await user.get('/files'))).toEqual([401, 'unauthenticated'])
    expect((await (await signInAgain(user)).get('/files')).status).toBe(200)
  })
})

describe('active sessions', () => {
  test('lists active sessions for admins and for the user, but not for API keys', async () => {
    const user = await tenant.createUser(['metadata'])
    const userId = await getUserId(user)
    const other = await signInAgain(user)
    const byAdmin = await queryData(tenant.admin, `query ($userId: ID!) { userSessions(userId: $userId) { ${fields} } }`, {
      userId,
    })
    const session = {
      sessionId: anyId('ses'),
      createdAt: anyTimestamp,
      expiresAt: anyTimestamp,
      ipAddress: '127.0.0.1',
      userAgent: expect.stringMatching(/\S/),
      isCurrent: false,
    }
    expect(byAdmin.userSessions).toEqual({ data: [session, session], pagination: { totalItems: 2 } })
    const { mySessions } = await queryData(other, `{ mySessions { ${fields} } }`)
    expect(mySessions.data).toEqual([{ ...session, isCurrent: true }, session])
    const none = { data: [], pagination: { totalItems: 0 } }
    expect((await queryData(tenant.admin, `{ mySessions { ${fields} } }`)).mySessions).toEqual(none)
  })

  test("allows only an admin of the same tenant to list and end other users' sessions", async () => {
    const user = await tenant.createUser(['metadata'])
    const userId = await getUserId(user)
    for (const [by, code] of [
      [await tenant.createUser(['metadata']), 'FORBIDDEN'],
      [(await world.createTenant()).admin, 'NOT_FOUND'],
    ] as const) {
      expect(
        getGraphqlCode(await by.graphql(`query ($userId: ID!) { userSessions(userId: $userId) { ${fields} } }`, { userId })),
      ).toBe(code)
      expect(getGraphqlCode(await by.graphql('mutation ($userId: ID!) { endUserSessions(userId: $userId) }', { userId }))).toBe(
        code,
      )
    }
    expect((await user.get('/files')).status).toBe(200)
  })

  test('ends sessions individually or together and audits both actions', async () => {
    const user = await tenant.createUser(['metadata'])
    const userId = await getUserId(user)
    const [second, third] = [await signInAgain(user), await signInAgain(user)]
    const { mySessions } = await queryData(second, `{ mySessions { ${fields} } }`)
    const { sessionId } = mySessions.data.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent)
    const one = 'mutation ($userId: ID!, $sessionId: ID) { endUserSessions(userId: $userId, sessionId: $sessionId) }'
    expect((await queryData(tenant.admin, one, { userId, sessionId })).endUserSessions).toBe(1)
    expect(getGraphqlCode(await tenant.admin.graphql(one, { userId, sessionId }))).toBe('NOT_FOUND')
    expect([(await user.get('/files')).status, (await second.get('/files')).status]).toEqual([200, 401])
    expect((await queryData(tenant.admin, one, { userId })).endUserSessions).toBe(2)
    expect([(await user.get('/files')).status, (await third.get('/files')).status]).toEqual([401, 401])
    expect(getItems(await tenant.admin.get(`/audit-logs?entity_id=${sessionId}&action=revoked`))).toMatchObject([
      { entity_type: 'session', performed_by_id: tenant.admin.id, details: { user_id: userId } },
    ])
  })

  test("allows users to end their own sessions, but not other users' sessions", async () => {
    const [user, otherUser] = [await tenant.createUser(['metadata']), await tenant.createUser(['metadata'])]
    const other = await signInAgain(user)
    const { mySessions } = await queryData(other, `{ mySessions { ${fields} } }`)
    const { sessionId } = mySessions.data.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent)
    const end = 'mutation ($sessionId: ID!) { endMySession(sessionId: $sessionId) }'
    expect(getGraphqlCode(await otherUser.graphql(end, { sessionId }))).toBe('NOT_FOUND')
    expect((await queryData(other, end, { sessionId })).endMySession).toBe(true)
    expect([(await user.get('/files')).status, (await other.get('/files')).status]).toEqual([401, 200])
  })
})

describe('password resets and common passwords', () => {
  test('ends all sessions of a user whose password an admin resets', async () => {
    const user = await tenant.createUser(['metadata'])
    const userId = await getUserId(user)
    const { resetUserPassword } = await queryData(
      tenant.admin,
      'mutation ($userId: ID!) { resetUserPassword(userId: $userId) { password user { userId } } }',
      { userId },
    )
    expect(resetUserPassword).toEqual({ password: expect.stringMatching(/^[\w-]{20}$/), user: { userId } })
    expect((await user.get('/files')).status).toBe(401)
    expect(await signIn(user, user.password)).toBe('UNAUTHENTICATED')
    expect(((await signIn(user, resetUserPassword.password)) as Caller).credential).toMatch(/\./)
  })

  test.each(['password123', 'PassWord', '12345678', 'qwertyuiop', 'iloveyou1'])(
    'rejects the common password %s',
    async (password) => {
      const invite = await tenant.admin.graphql(
        'mutation ($input: InviteUserInput!) { inviteUser(input: $input) { password } }',
        {
          input: { email: 'common@example.com', name: 'C', scopes: ['upload'], password },
        },
      )
      expect(getGraphqlCode(invite)).toBe('BAD_USER_INPUT')
      expect(invite.body.errors[0].extensions.details.fields[0].message).toContain('must not be a common password')
      const user = await tenant.createUser(['metadata'])
      const change = await user.graphql(
        'mutation ($a: String!, $b: String!) { changePassword(currentPassword: $a, newPassword: $b) }',
        {
          a: user.password,
          b: password,
        },
      )
      expect(getGraphqlCode(change)).toBe('BAD_USER_INPUT')
    },
  )
})
