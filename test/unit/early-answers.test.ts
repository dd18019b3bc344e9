import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { settleEarlyAnswers } from '../../src/api/http/early-answers.js'

test('a connection that lives on through many early answers keeps nothing of them', async () => {
  const sockets = new Set<Socket>()
  const counts: number[] = []
  const server = createServer((incoming, response) => {
    sockets.add(incoming.socket)
    counts.push(incoming.socket.listenerCount('close'))
    settleEarlyAnswers(incoming, response)
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
    const [answer] = await once(call, 'response')
    // The answer is there before the body is: what watches for the rest of it has begun.
    call.end(Buffer.alloc(20_000))
    answer.resume()
    await closed
  }
  expect(sockets.size).toBe(1)
  expect(counts).toHaveLength(15)
  expect(counts.at(-1)).toBe(counts[1])
  agent.destroy()
  server.close()
  await once(server, 'close')
})
