import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
const open = new Set<WebSocket>()
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
})
afterAll(async () => {
  for (const socket of open) socket.terminate()
  await world.close()
})

const url = () => `${world.url.replace('http', 'ws')}/graphql`
const payloads = { text: 'x'.repeat(10_000) }

function connect() {
  const socket = new WebSocket(url(), 'graphql-transport-ws')
  open.add(socket)
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  const messages: { type: string; payload?: unknown }[] = []
  socket.on('message', (data) => messages.push(JSON.parse(String(data))))
  const send = (message: object) => socket.send(JSON.stringify(message))
  const opened = new Promise<void>((resolve) => {
    socket.once('open', resolve)
    socket.once('close', () => resolve())
  })
  return { socket, opened, closed, messages, send }
}

async function authenticate() {
  const connection = connect()
  await connection.opened
  connection.send({ type: 'connection_init', payload: { Authorization: `Bearer ${tenant.admin.credential}` } })
  await once(connection.socket, 'message')
  expect(connection.messages.splice(0)).toEqual([{ type: 'connection_ack' }])
  return connection
}

describe('WebSocket connections before connection_ack', () => {
  test.each([
    ['a ping', [{ type: 'ping', payload: payloads }]],
    ['a pong', [{ type: 'pong', payload: payloads }]],
    ['a subscription', [{ type: 'subscribe', id: '1', payload: { query: 'subscription { events { type } }' } }]],
    ['a second message', [{ type: 'connection_init' }, { type: 'ping', payload: payloads }]],
  ])('closes a WebSocket connection without a response if the client sends %s before connection_ack', async (_what, messages) => {
    const { opened, closed, messages: received, send } = connect()
    await opened
    for (const message of messages) send(message)
    expect(await closed).toBe(4401)
    expect(received).toEqual([])
  })

  test('does not respond to WebSocket ping frames before connection_ack', async () => {
    const { socket, opened, closed, send } = connect()
    await opened
    let pongs = 0
    socket.on('pong', () => pongs++)
    socket.ping('data')
    send({ type: 'subscribe', id: '1', payload: { query: 'subscription { events { type } }' } })
    expect(await closed).toBe(4401)
    expect(pongs).toBe(0)
  })

  test('delivers events to a subscriber despite 520 idle connections from one IP address', async () => {
    const idle = Array.from({ length: 520 }, connect)
    await Promise.all(idle.map(({ opened }) => opened))
    const client = createClient({
      url: url(),
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${tenant.admin.credential}` },
      retryAttempts: 0,
    })
    const { value } = await client.iterate({ query: 'subscription { events(after: 0) { sequence } }' }).next()
    expect(value.data.events.sequence).toBe(1)
    // New connections replaced the oldest idle ones.
    expect(await idle[0]!.closed).toBe(1013)
    await client.dispose()
    for (const { socket } of idle) socket.terminate()
  })
})

describe('WebSocket connections after connection_ack', () => {
  test('responds to a WebSocket ping frame, and to a ping message without echoing its payload', async () => {
    const { socket, send, messages } = await authenticate()
    send({ type: 'ping', payload: payloads })
    await once(socket, 'message')
    expect(messages).toEqual([{ type: 'pong' }])
    socket.ping('data')
    await once(socket, 'pong')
    socket.close()
  })

  test('closes a WebSocket connection that sends more than 60 messages in an interval', async () => {
    const { send, closed, messages } = await authenticate()
    for (let message = 0; message < 300; message++) send({ type: 'ping' })
    expect(await closed).toBe(1008)
    expect(messages.length).toBeLessThan(300)
  })

  test.each([
    ['larger than 16 KB', () => JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(16_384) } }), 1009],
    ['that only a server sends', () => '{"type":"connection_ack"}', 4400],
    ['that is not JSON', () => 'text', 4400],
  ])('closes a WebSocket connection that sends a message %s', async (_what, text, code) => {
    const { socket, closed } = await authenticate()
    socket.send(text())
    expect(await closed).toBe(code)
  })

  test('rejects a subscription whose events would contain too many values', async () => {
    const { socket, send, messages } = await authenticate()
    const fields = Array.from({ length: 20 }, (_, at) => `data${at}: data`).join(' ')
    send({ type: 'subscribe', id: '1', payload: { query: `subscription { events { ${fields} } }` } })
    await once(socket, 'message')
    expect(messages).toEqual([
      {
        type: 'error',
        id: '1',
        payload: [expect.objectContaining({ message: expect.stringMatching(/has a cost of \d+.*limit is 200/) })],
      },
    ])
    socket.close()
  })
})

test('closes a WebSocket with the correct code if the reason contains multibyte characters', async () => {
  const { closed, send } = await authenticate()
  const message = { type: 'subscribe', id: '漢'.repeat(200), payload: { query: 'subscription { events { type } }' } }
  send(message)
  send(message)
  expect(await closed).toBe(4409)
})
