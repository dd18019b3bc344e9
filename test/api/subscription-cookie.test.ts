import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { createSystemActor } from '../../src/platform/actor.js'
import { World } from '../support/world.js'

describe('dashboard cookie for WebSocket connections', () => {
  let world: World
  let cookie: string
  beforeAll(async () => {
    world = await World.open()
    const { tenantId } = await world.createTenant()
    const input = { email: 'ada@example.com', name: 'Ada', scopes: ['admin'] as never, password: 'correct horse battery' }
    await world.app.services.users.create(createSystemActor(tenantId), input)
    const response = await fetch(`${world.url}/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: input.email, password: input.password }),
    })
    cookie = response.headers.get('set-cookie')!.split(';')[0]!
  })
  afterAll(() => world.close())

  /** Returns the type of the first received event, or the reason for closing the connection. */
  const subscribe = async (origin: string | undefined, connectionParams: Record<string, string>): Promise<string> => {
    class PageSocket extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { ...(origin && { origin }), headers: { cookie } })
      }
    }
    const url = `${world.url.replace('http', 'ws')}/graphql`
    const client = createClient({ url, webSocketImpl: PageSocket, connectionParams, retryAttempts: 0 })
    try {
      const events = client.iterate<{ events: { type: string } }>({ query: 'subscription { events(after: 0) { type } }' })
      const first = await events.next()
      await events.return!()
      return first.value.data.events.type
    } catch (error) {
      return (error as { reason: string }).reason
    } finally {
      await client.dispose()
    }
  }
  const dashboard = { 'X-Assay-Request': 'dashboard' }

  test("accepts the dashboard cookie for a WebSocket from a page on the service's origin", async () => {
    expect(await subscribe(world.url, dashboard)).toMatch(/^\w+\.\w+$/)
  })

  test('rejects the dashboard cookie for a WebSocket from a page on another origin', async () => {
    expect(await subscribe('https://evil.example', dashboard)).toMatch(/^Missing credential/)
  })

  test.each([
    ['on another port', () => 'http://127.0.0.1:1', dashboard],
    ['with the origin null', () => 'null', dashboard],
    ['without an origin', () => undefined, dashboard],
    ['without the dashboard header', () => world.url, {}],
  ])('rejects the dashboard cookie for a WebSocket from a page %s', async (_case, origin, params) => {
    expect(await subscribe(origin(), params as Record<string, string>)).toMatch(/^Missing credential/)
  })
})
