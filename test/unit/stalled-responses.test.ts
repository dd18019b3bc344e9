import 'reflect-metadata'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { disconnectIfStalled } from '../../src/api/http/application.js'

let server: Server
const clients: Socket[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
  server.closeAllConnections()
  server.close()
})

/** Serves a response and returns a client that has sent its request, and a promise for the end of the response. */
async function request(respond: (response: ServerResponse) => void, stalledMs = 200) {
  let closed: Promise<unknown> = Promise.resolve()
  server = createServer((_request, response) => {
    disconnectIfStalled(response, stalledMs)
    closed = once(response, 'close')
    respond(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  clients.push(client)
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(server, 'request')
  return { client, ended: () => closed }
}

// A response that exceeds all kernel buffers.
const large = Buffer.alloc(32 * 1_048_576)

test('disconnects a client that stops reading its response', async () => {
  const { client, ended } = await request((response) => response.end(large))
  await once(client, 'readable')
  await ended()
  expect(server.listening).toBe(true)
})

test('does not disconnect a client that waits for a slow response', async () => {
  const { client, ended } = await request(async (response) => {
    response.write('one ')
    await pause(700)
    response.end('two')
  })
  let text = ''
  client.on('data', (chunk) => {
    text += chunk
  })
  await ended()
  while (!text.includes('two')) await once(client, 'data')
  expect(text).toContain('one')
})
