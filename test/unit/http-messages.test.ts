import 'reflect-metadata'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import express from 'express'
import { createHttpServer } from '../../src/api/http/server.js'

test('leaves no listeners on a reused connection after an early response', async () => {
  const sockets = new Set<Socket>()
  const counts: number[] = []
  const server = createHttpServer((incoming, response) => {
    sockets.add(incoming.socket)
    counts.push(incoming.socket.listenerCount('close'))
    response.writeHead(401).end('no')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let time = 0; time < 15; time++) {
    const call = request({ agent, port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 20_000 } })
    const closed = once(call, 'close')
    call.flushHeaders()
    const [response] = await once(call, 'response')
    // The service responds before the body arrives, then waits for the rest of the body.
    call.end(Buffer.alloc(20_000))
    response.resume()
    await closed
  }
  expect(sockets.size).toBe(1)
  expect(counts).toHaveLength(15)
  expect(counts.at(-1)).toBe(counts[1])
  agent.destroy()
  server.close()
  await once(server, 'close')
})

test("closes only the server's side of a connection after an early response", async () => {
  const server = createHttpServer((_incoming, response) => void response.writeHead(413).end('too large'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  const errors: Error[] = []
  client.on('error', (error) => errors.push(error))
  const [socket] = (await once(server, 'connection')) as [Socket]
  const length = 1_000_000
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
  let text = ''
  client.on('data', (chunk) => {
    text += chunk
  })
  await once(client, 'end')
  expect(text).toMatch(/^HTTP\/1.1 413 .*Connection: close.*too large/s)
  // Node.js would destroy the socket by default, and the remaining bytes would cause a reset.
  expect(socket.destroyed).toBe(false)
  const before = socket.bytesRead
  client.end(Buffer.alloc(length))
  await once(socket, 'close')
  expect(socket.bytesRead - before).toBe(length)
  expect(errors).toEqual([])
  server.close()
})

test('Express does not change the prototypes of requests and responses', async () => {
  const app = express()
  app.get('/', (request, response) => void response.json({ path: request.path }))
  const prototypes: unknown[][] = []
  const server = createHttpServer((request, response) => {
    const note = () => prototypes.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)])
    note()
    response.once('finish', note)
    app(request, response)
  }, app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(await response.json()).toEqual({ path: '/' })
  const [created, responded] = prototypes
  expect(responded![0]).toBe(created![0])
  expect(responded![1]).toBe(created![1])
  server.closeAllConnections()
  server.close()
})
