import { describe, expect, test } from '@jest/globals'
import type { WindowCounter } from '../../src/access/counters.js'
import { SignInThrottle } from '../../src/access/sign-in-throttle.js'

const counter = (): WindowCounter => {
  const counts = new Map<string, number>()
  return {
    add: async (key, points = 1) => {
      counts.set(key, (counts.get(key) ?? 0) + points)
      return { count: counts.get(key)!, resetSeconds: 300 }
    },
  }
}

/** Creates a sign-in pace that records delays instead of waiting, unless `hold` delays them. */
function createPace({
  free = {},
  hold,
}: {
  free?: { pair?: number; account?: number; address?: number }
  hold?: Promise<void>
} = {}) {
  const waits: number[] = []
  const pace = new SignInThrottle({
    counters: { pair: counter(), account: counter(), address: counter() },
    free,
    pause: async (ms) => {
      waits.push(ms)
      await hold
    },
  })
  return { pace, waits }
}
const at = (email: string, ip: string, familiar = false) => ({ email, ip, isFamiliar: async () => familiar })

describe('sign-in attempts', () => {
  test('delays repeated sign-in attempts exponentially, up to 15 seconds', async () => {
    const { pace, waits } = createPace({ free: { pair: 3 } })
    for (let time = 0; time < 12; time++) await pace.delayAttempt(at('amy@example.com', '192.0.2.1'))
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000])
  })

  test('treats different spellings of an email address as one account', async () => {
    const { pace, waits } = createPace({ free: { pair: 1 } })
    await pace.delayAttempt(at(' Amy@Example.com', '2001:db8:1:2::1'))
    await pace.delayAttempt(at('amy@example.com', '2001:db8:1:2:ffff::9'))
    expect(waits).toEqual([250])
  })

  test('does not delay an account owner who signs in from a familiar IP address', async () => {
    const { pace, waits } = createPace({ free: { pair: 3, account: 5 } })
    for (let address = 0; address < 7; address++) await pace.delayAttempt(at('amy@example.com', `198.51.100.${address}`))
    expect(waits).toEqual([250, 500])
    await pace.delayAttempt(at('amy@example.com', '192.0.2.1', true))
    expect(waits).toEqual([250, 500])
    await pace.delayAttempt(at('amy@example.com', '192.0.2.2'))
    expect(waits).toEqual([250, 500, 2000])
    await pace.delayAttempt(at('bea@example.com', '192.0.2.2'))
    expect(waits).toHaveLength(3)
  })

  test('delays sign-in attempts to many accounts from one IP address', async () => {
    const { pace, waits } = createPace({ free: { address: 2 } })
    for (let account = 0; account < 4; account++) await pace.delayAttempt(at(`user${account}@example.com`, '192.0.2.1'))
    expect(waits).toEqual([250, 500])
    await pace.delayAttempt(at('amy@example.com', '192.0.2.1', true))
    expect(waits).toHaveLength(2)
  })

  test('counts failed sign-in attempts from a familiar IP address as guesses', async () => {
    const { pace, waits } = createPace({ free: { pair: 2 } })
    for (let time = 0; time < 3; time++) await pace.delayAttempt(at('amy@example.com', '192.0.2.1', true))
    expect(waits).toEqual([250])
  })

  test('does not count successful sign-in attempts', async () => {
    const { pace, waits } = createPace({ free: { pair: 1, account: 1, address: 1 } })
    for (let time = 0; time < 20; time++) await (await pace.delayAttempt(at('amy@example.com', '192.0.2.1'))).recordSuccess()
    expect(waits).toEqual([])
  })

  test('queues up to eight sign-in attempts per IP address and rejects any more', async () => {
    let go = () => {}
    const hold = new Promise<void>((resolve) => {
      go = resolve
    })
    const { pace } = createPace({ free: { pair: 0 }, hold })
    const waiting = Array.from({ length: 8 }, (_, user) => pace.delayAttempt(at(`user${user}@example.com`, '192.0.2.1')))
    await new Promise(setImmediate)
    await expect(pace.delayAttempt(at('more@example.com', '192.0.2.1'))).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: 1,
    })
    const other = pace.delayAttempt(at('more@example.com', '192.0.2.2'))
    go()
    await Promise.all([...waiting, other])
    await expect(pace.delayAttempt(at('more@example.com', '192.0.2.1'))).resolves.toBeDefined()
  })

  test('removes a queued sign-in attempt if its client disconnects', async () => {
    const pace = new SignInThrottle({ counters: { pair: counter(), account: counter(), address: counter() }, free: { pair: 0 } })
    await expect(pace.delayAttempt({ ...at('amy@example.com', '192.0.2.1'), signal: AbortSignal.abort() })).rejects.toThrow(
      'aborted',
    )
  })
})
