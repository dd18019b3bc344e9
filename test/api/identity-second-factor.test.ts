import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TOTP } from 'otpauth'
import { MasterKey } from '../../src/access/master-key.js'
import { reencryptSecrets } from '../../src/access/reencrypt.js'
import { getData, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

type Person = Caller & { email: string; password: string }

const data = ({ body }: ApiResponse) => {
  expect(body.errors).toBeUndefined()
  return body.data
}
const startSession = (user: Caller, password: string) =>
  user.graphql('mutation ($password: String!) { beginSecondFactor(password: $password) { secret uri } }', { password })
const confirm = (user: Caller, code: string) =>
  user.graphql('mutation ($code: String!) { confirmSecondFactor(code: $code) { recoveryCodes } }', { code })
const remove = (user: Caller, code: string) =>
  user.graphql('mutation ($code: String!) { removeSecondFactor(code: $code) }', { code })
const signIn = ({ email, password }: Pick<Person, 'email' | 'password'>, code?: string) =>
  world.unauthenticated.graphql(
    'mutation ($email: String!, $password: String!, $code: String) { signIn(email: $email, password: $password, code: $code) { token secondFactorDue user { hasSecondFactor } } }',
    { email, password, code },
  )
const require = (tenant: TestTenant, required: boolean) =>
  tenant.admin.graphql('mutation ($required: Boolean!) { requireSecondFactor(required: $required) { secondFactorRequired } }', {
    required,
  })

/** Generates the code of an authenticator app whose clock is two seconds behind. */
const generateCode = (secret: string, ahead = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() - 2_000 + ahead * 30_000 })
/** Returns the code of the next time step because each code is single-use. */
const generateNextCode = (secret: string) => generateCode(secret, 1)
async function setUp(user: Person) {
  const { secret } = data(await startSession(user, user.password)).beginSecondFactor
  const { recoveryCodes } = data(await confirm(user, generateCode(secret))).confirmSecondFactor
  return { secret, recoveryCodes: recoveryCodes as string[] }
}

describe('second factor', () => {
  test('requires the second factor at sign-in only after enrollment is confirmed', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    expect(getGraphqlCode(await startSession(user, 'not the password'))).toBe('FORBIDDEN')
    expect(getGraphqlCode(await startSession(tenant.admin, user.password))).toBe('FORBIDDEN')
    const { secret, uri } = data(await startSession(user, user.password)).beginSecondFactor
    expect(uri).toContain(`secret=${secret}`)
    expect(uri).toMatch(/^otpauth:\/\/totp\/Assay:/)
    expect(data(await signIn(user)).signIn.user.hasSecondFactor).toBe(false)
    expect(getGraphqlCode(await confirm(user, '000000'))).toBe('FORBIDDEN')
    expect(data(await confirm(user, generateCode(secret))).confirmSecondFactor.recoveryCodes).toHaveLength(10)

    const without = await signIn(user)
    expect([getGraphqlCode(without), without.body.errors[0].extensions.details]).toEqual([
      'UNAUTHENTICATED',
      { second_factor: 'code' },
    ])
    expect(getGraphqlCode(await signIn(user, '123'))).toBe('UNAUTHENTICATED')
    // A wrong password returns the same error for any second-factor code.
    const wrong = await signIn({ ...user, email: user.email, password: 'wrong' }, generateNextCode(secret))
    expect(wrong.body.errors[0].message).toBe('The email address or password is wrong.')
    const { token, user: who } = data(await signIn(user, generateNextCode(secret))).signIn
    expect(who.hasSecondFactor).toBe(true)
    expect((await world.createCaller(token).get('/files')).status).toBe(200)
    const [entry] = getItems(await tenant.admin.get('/audit-logs?audit_type=tenant&action=updated'))
    expect(entry).toMatchObject({ entity_type: 'user', details: { changed: { second_factor: true } } })
    expect(JSON.stringify(getItems(await tenant.admin.get('/audit-logs')))).not.toContain(secret)
  })

  test('accepts each second-factor code only once, even from two concurrent clients', async () => {
    const user = await (await world.createTenant()).createUser(['metadata'])
    const { secret } = await setUp(user)
    const code = generateNextCode(secret)
    const codes = (await Promise.all([signIn(user, code), signIn(user, code)])).map(getGraphqlCode)
    expect(codes.sort()).toEqual(['UNAUTHENTICATED', undefined])
    expect(getGraphqlCode(await signIn(user, code))).toBe('UNAUTHENTICATED')
  })

  test('accepts each of the ten recovery codes once, regardless of letter case and spacing', async () => {
    const user = await (await world.createTenant()).createUser(['metadata'])
    const { recoveryCodes } = await setUp(user)
    expect(new Set(recoveryCodes).size).toBe(10)
    expect(getGraphqlCode(await signIn(user, recoveryCodes[0]!))).toBeUndefined()
    expect(getGraphqlCode(await signIn(user, recoveryCodes[0]!))).toBe('UNAUTHENTICATED')
    expect(getGraphqlCode(await signIn(user, ` ${recoveryCodes[9]!.toUpperCase().replaceAll('-', ' ')}`))).toBeUndefined()
  })

  test('removes a second factor at the request of its user or an admin', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { secret } = await setUp(user)
    expect(getGraphqlCode(await remove(user, '000000'))).toBe('FORBIDDEN')
    expect(data(await remove(user, generateNextCode(secret))).removeSecondFactor).toBe(true)
    expect(getGraphqlCode(await signIn(user))).toBeUndefined()

    await setUp(user)
    const { userId } = data(await user.graphql('{ me { userId } }')).me
    const reset = 'mutation ($userId: ID!) { resetUserSecondFactor(userId: $userId) { hasSecondFactor } }'
    expect(getGraphqlCode(await (await world.createTenant()).admin.graphql(reset, { userId }))).toBe('NOT_FOUND')
    expect(data(await tenant.admin.graphql(reset, { userId })).resetUserSecondFactor.hasSecondFactor).toBe(false)
    expect((await user.get('/files')).status).toBe(401)
    expect(getGraphqlCode(await signIn(user))).toBeUndefined()
  })

  test('re-encrypts second-factor secrets if MASTER_KEY changes', async () => {
    const user = await (await world.createTenant()).createUser(['metadata'])
    const { secret, recoveryCodes } = await setUp(user)
    const { rows } = await world.database.pool.query('SELECT * FROM users WHERE email = $1', [user.email])
    const stored = JSON.stringify(rows[0], (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    )
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain(recoveryCodes[0])
    const renewed = new MasterKey([Buffer.alloc(32, 3), world.config.masterKey!])
    expect(await reencryptSecrets(world.database.pool, renewed)).toBeGreaterThanOrEqual(3)
    expect(await reencryptSecrets(world.database.pool, renewed)).toBe(0)
    await reencryptSecrets(world.database.pool, new MasterKey([world.config.masterKey!, Buffer.alloc(32, 3)]))
    expect(getGraphqlCode(await signIn(user, generateNextCode(secret)))).toBeUndefined()
  })
})

describe('wrong second-factor codes', () => {
  const wrong = '000000'
  const setWrongCodes = ({ email }: Person, count: number) =>
    world.database.pool.query('UPDATE users SET wrong_codes = $2, codes_locked_until = NULL WHERE email = $1', [email, count])
  const endLock = ({ email }: Person) =>
    world.database.pool.query("UPDATE users SET codes_locked_until = now() - interval '1 s' WHERE email = $1", [email])
  const stateOf = async ({ email }: Person) => {
    const { rows } = await world.database.pool.query(
      'SELECT wrong_codes, codes_locked_until, round(extract(epoch FROM codes_locked_until - now()) / 3600)::int AS hours FROM users WHERE email = $1',
      [email],
    )
    return rows[0]
  }
  const locksOf = async (tenant: TestTenant) =>
    getData(await tenant.admin.get('/events?types=security.second_factor_locked')).data.map(({ data }: { data: object }) => data)
  const error = ({ body }: ApiResponse) => {
    const { message, extensions } = body.errors[0]
    const { retry_after, ...details } = extensions.details
    return { message, code: extensions.code, details }
  }

  test("locks a user's second factor for an hour after ten consecutive wrong codes", async () => {
    const replica = await World.open({}, world)
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { secret, recoveryCodes } = await setUp(user)
    const signInAt = (at: World, code: string) =>
      at.unauthenticated.raw('/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: user.email, password: user.password, code }),
      })
    const guesses = Array.from({ length: 10 }, (_, at) => signInAt(at % 2 ? replica : world, wrong))
    for (const guess of await Promise.all(guesses)) expect(toStatusAndCode(guess)).toEqual([401, 'unauthenticated'])
    expect(await stateOf(user)).toMatchObject({ wrong_codes: 10, hours: 1 })

    const locked = await signInAt(replica, wrong)
    expect(toStatusAndCode(locked)).toEqual([429, 'rate_limited'])
    const until = (await stateOf(user)).codes_locked_until.toISOString()
    expect(locked.body.error.details).toMatchObject({ second_factor: 'locked', locked_until: until })
    expect(locked.body.message).toContain(until)
    const { retry_after, ...details } = locked.body.error.details
    for (const code of [generateNextCode(secret), recoveryCodes[0]!])
      expect(error(await signIn(user, code))).toEqual({ message: locked.body.message, code: 'RATE_LIMITED', details })
    const metrics = await Promise.all(
      [world, replica].map(async ({ unauthenticated }) => (await unauthenticated.raw('/metrics')).body),
    )
    expect(metrics.join('').match(/assay_security_events_total\{reason="second_factor_locked"\} 1/g)).toHaveLength(1)
    await replica.close()

    expect(await stateOf(user)).toMatchObject({ wrong_codes: 10 })
    expect((await user.get('/files')).status).toBe(200)
    const facts = { reason: 'second_factor_locked', wrong_codes: 10, locked_until: until, message: locked.body.message }
    const { userId } = data(await user.graphql('{ me { userId } }')).me
    expect(await locksOf(tenant)).toEqual([
      { ...facts, subject_id: userId, performed_by_id: 'system', performed_by_type: 'system' },
    ])
    const entries = getItems(await tenant.admin.get('/audit-logs?audit_type=security&page_size=100'))
    expect(entries).toContainEqual(expect.objectContaining({ entity_id: userId, ip_address: '127.0.0.1', details: facts }))

    await endLock(user)
    expect(getGraphqlCode(await signIn(user, generateNextCode(secret)))).toBeUndefined()
    expect(await stateOf(user)).toMatchObject({ wrong_codes: 0, codes_locked_until: null })
  })

  test('doubles the duration of each subsequent second-factor lock, up to one day', async () => {
    const user = await (await world.createTenant()).createUser(['metadata'])
    await setUp(user)
    const hoursAfter = async (count: number) => {
      await setWrongCodes(user, count - 1)
      expect(getGraphqlCode(await signIn(user, wrong))).toBe('UNAUTHENTICATED')
      return (await stateOf(user)).hours
    }
    const hours: number[] = []
    for (const count of [9, 10, 11, 14, 15, 99]) hours.push(await hoursAfter(count))
    expect(hours).toEqual([null, 1, 2, 16, 24, 24])
  })

  test.each(['second factor', 'password'])(
    "locks a second factor after 100 wrong codes until an admin resets the user's %s",
    async (what) => {
      const tenant = await world.createTenant()
      const user = await tenant.createUser(['metadata'])
      const { secret } = await setUp(user)
      const { userId } = data(await user.graphql('{ me { userId } }')).me
      await setWrongCodes(user, 99)
      expect(getGraphqlCode(await signIn(user, wrong))).toBe('UNAUTHENTICATED')
      await endLock(user)
      expect(error(await signIn(user, generateNextCode(secret)))).toMatchObject({
        code: 'FORBIDDEN',
        details: { second_factor: 'locked', locked_until: null },
      })
      expect(await locksOf(tenant)).toEqual([expect.objectContaining({ wrong_codes: 100, locked_until: null })])
      expect((await user.get('/files')).status).toBe(200)

      // Changing the password does not end the lock because an attacker with a stolen session could change it.
      const password = 'nine lamps above the quay'
      const change = 'mutation ($old: String!, $new: String!) { changePassword(currentPassword: $old, newPassword: $new) }'
      expect(data(await user.graphql(change, { old: user.password, new: password })).changePassword).toBe(true)
      expect(getGraphqlCode(await signIn({ ...user, email: user.email, password }, generateNextCode(secret)))).toBe('FORBIDDEN')

      const [reset, code] =
        what === 'password'
          ? ['resetUserPassword(userId: $userId) { password }', generateNextCode(secret)]
          : ['resetUserSecondFactor(userId: $userId) { id }', undefined]
      const done = data(await tenant.admin.graphql(`mutation ($userId: ID!) { done: ${reset} }`, { userId })).done
      expect(getGraphqlCode(await signIn({ email: user.email, password: done.password ?? password }, code))).toBeUndefined()
      expect(await stateOf(user)).toMatchObject({ wrong_codes: 0, codes_locked_until: null })
    },
  )

  test('uses one counter for wrong second-factor codes at sign-in, removal and enrollment', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    const { secret } = await setUp(user)
    expect(getGraphqlCode(await signIn(user, wrong))).toBe('UNAUTHENTICATED')
    expect(getGraphqlCode(await remove(user, wrong))).toBe('FORBIDDEN')
    expect(await stateOf(user)).toMatchObject({ wrong_codes: 2 })
    await setWrongCodes(user, 9)
    expect(getGraphqlCode(await remove(user, 'not-a-recovery-code'))).toBe('FORBIDDEN')
    expect(getGraphqlCode(await remove(user, generateNextCode(secret)))).toBe('RATE_LIMITED')
    expect(getGraphqlCode(await signIn(user, generateNextCode(secret)))).toBe('RATE_LIMITED')
    expect(await locksOf(tenant)).toEqual([expect.objectContaining({ wrong_codes: 10, performed_by_type: 'user' })])

    const newcomer = await tenant.createUser(['metadata'])
    const started = data(await startSession(newcomer, newcomer.password)).beginSecondFactor
    await setWrongCodes(newcomer, 9)
    expect(getGraphqlCode(await confirm(newcomer, wrong))).toBe('FORBIDDEN')
    expect(getGraphqlCode(await confirm(newcomer, generateCode(started.secret)))).toBe('RATE_LIMITED')
    expect(getGraphqlCode(await startSession(newcomer, newcomer.password))).toBe('RATE_LIMITED')
    expect(getGraphqlCode(await signIn(newcomer))).toBeUndefined()
    await endLock(newcomer)
    expect(data(await confirm(newcomer, generateCode(started.secret))).confirmSecondFactor.recoveryCodes).toHaveLength(10)
    expect(await stateOf(newcomer)).toMatchObject({ wrong_codes: 0 })
  })

  test('counts wrong second-factor codes only if the password is correct', async () => {
    const user = await (await world.createTenant()).createUser(['metadata'])
    await setUp(user)
    expect(getGraphqlCode(await signIn({ email: user.email, password: 'not the password' }, wrong))).toBe('UNAUTHENTICATED')
    expect(getGraphqlCode(await signIn(user))).toBe('UNAUTHENTICATED')
    expect(await stateOf(user)).toMatchObject({ wrong_codes: 0 })
  })
})

describe('tenants that require a second factor', () => {
  test('limits a session that lacks the required second factor to setting one up', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('notes')
    const user = await tenant.createUser(['metadata', 'admin'])
    expect((await user.get('/files')).status).toBe(200)
    expect(data(await require(tenant, true)).requireSecondFactor.secondFactorRequired).toBe(true)
    for (const path of ['/files', '/contexts', '/tenant', '/audit-logs/export'])
      expect([path, ...toStatusAndCode(await user.get(path))]).toEqual([path, 403, 'forbidden'])
    expect(getGraphqlCode(await user.graphql('{ contexts { data { contextKey } } }'))).toBe('FORBIDDEN')
    expect(getGraphqlCode(await user.graphql('{ mySessions { data { sessionId } } }'))).toBe('FORBIDDEN')
    expect(data(await user.graphql('{ me { secondFactorDue } }')).me.secondFactorDue).toBe(true)
    const { token, secondFactorDue } = data(await signIn(user)).signIn
    expect([secondFactorDue, (await world.createCaller(token).get('/contexts')).status]).toEqual([true, 403])

    const { secret } = await setUp(user)
    expect((await user.get('/files')).status).toBe(200)
    expect(getGraphqlCode(await remove(user, generateNextCode(secret)))).toBe('FORBIDDEN')
    expect(data(await signIn(user, generateNextCode(secret))).signIn.secondFactorDue).toBe(false)
  })

  test('does not require a second factor for API keys or other tenants', async () => {
    const [tenant, other] = [await world.createTenant(), await world.createTenant()]
    const [user, otherUser] = [await tenant.createUser(['metadata']), await other.createUser(['metadata'])]
    await require(tenant, true)
    expect((await tenant.admin.get('/files')).status).toBe(200)
    expect((await otherUser.get('/files')).status).toBe(200)
    expect((await user.get('/files')).status).toBe(403)
    await require(tenant, false)
    expect((await user.get('/files')).status).toBe(200)
    expect(getItems(await tenant.admin.get('/audit-logs?audit_type=tenant&action=updated'))[0]).toMatchObject({
      entity_type: 'tenant',
      details: { changed: { second_factor_required: { previous: true, new: false } } },
    })
  })

  test('allows only admins to require a second factor', async () => {
    const tenant = await world.createTenant()
    const user = await tenant.createUser(['metadata'])
    expect(getGraphqlCode(await user.graphql('mutation { requireSecondFactor(required: true) { name } }'))).toBe('FORBIDDEN')
  })
})
