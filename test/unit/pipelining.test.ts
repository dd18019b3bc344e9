import 'reflect-metadata'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { createHttpServer } from '../../src/api/http/server.js'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

async function open(handle: RequestListener): Promise<Socket> {
  const server = createHttpServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  ends.push(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  return client
}
const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

test('starts pipelined requests one after another and responds in order', async () => {
  let underWay = 0
  let max = 0
  const client = await open((incoming, response) => {
    max = Math.max(max, ++underWay)
    response.once('finish', () => underWay--)
    setImmediate(() => response.end(`<${incoming.url}>`))
  })
  client.write(Array.from({ length: 40 }, (_, number) => request(`/${number}`)).join(''))
  let text = ''
  client.on('data', (chunk) => {
    text += chunk
  })
  while (!text.includes('</39>')) await once(client, 'data')
  expect([...text.matchAll(/<\/(\d+)>/g)].map(([, number]) => Number(number))).toEqual(Array.from({ length: 40 }, (_, at) => at))
  expect(max).toBe(1)
})

test('closes the connection of a client that pipelines too many requests', async () => {
  const started: ServerResponse[] = []
  const client = await open((_incoming, response) => void started.push(response))
  // Resolves when the connection is reset or ended.
  const closed = new Promise((resolve) => client.resume().once('close', resolve))
  client.write(request('/').repeat(1_000))
  await closed
  expect(started).toHaveLength(1)
})

test("does not start a client's remaining pipelined requests after it disconnects", async () => {
  const started: ServerResponse[] = []
  const client = await open((_incoming, response) => void started.push(response))
  client.write(request('/').repeat(3))
  while (started.length === 0) await new Promise((resolve) => setImmediate(resolve))
  client.destroy()
  await once(started[0]!, 'close')
  expect(started).toHaveLength(1)
})
