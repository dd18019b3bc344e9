import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import express, { type NextFunction, type Request, type Response } from 'express'
import { createDownloadLimiter, type DownloadLimits } from '../../src/api/http/downloads.js'
import { AssayError, httpStatus } from '../../src/platform/errors/errors.js'

let server: Server | undefined
const clients: Socket[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
  server?.closeAllConnections()
  server?.close()
})

/** Sends more bytes than kernel buffers can hold. */
async function serve(limits: DownloadLimits) {
  const closed: Promise<void>[] = []
  const app = express()
  const limit = createDownloadLimiter(limits)
  app.get('/download/:fileId', (request, response) => {
    limit(request, response)
    closed.push(new Promise((resolve) => response.once('close', () => resolve())))
    const chunk = Buffer.alloc(131_072)
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', write)
    write()
  })
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    response.status(error instanceof AssayError ? httpStatus[error.code] : 500).end()
  })
  server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const start = async (path: string) => {
    const client = connect(port, '127.0.0.1')
    clients.push(client)
    client.on('error', () => {})
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const [head] = (await once(client, 'data')) as [Buffer]
    client.pause()
    return { status: Number(head.toString('latin1', 9, 12)), client }
  }
  return { begin: start, closed }
}

test('limits concurrent downloads per URL and in total', async () => {
  const { begin: start, closed } = await serve({ perUrl: 2, total: 3 })
  const first = await start('/download/one')
  expect([first.status, (await start('/download/one')).status]).toEqual([200, 200])
  expect((await start('/download/one')).status).toBe(429)
  expect((await start('/download/two')).status).toBe(200)
  expect((await start('/download/three')).status).toBe(503)
  first.client.destroy()
  await closed[0]
  expect((await start('/download/one')).status).toBe(200)
})
