import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { Admission } from '../../src/access/admission.js'
import { BodyAdmission, type JsonLimits } from '../../src/access/body-admission.js'
import { Call } from '../../src/access/call.js'
import { UploadSlots } from '../../src/access/concurrency.js'
import { readJson } from '../../src/api/bodies/json.js'
import { watchBody } from '../../src/api/bodies/request-body.js'
import { createMessageClasses } from '../../src/api/http/http-messages.js'

let server: Server | undefined
let client: Socket | undefined
afterEach(() => {
  client?.destroy()
  server?.close()
})

const patient: JsonLimits = { idleMs: 60_000, deadlineMs: 60_000, maxBytes: 1_048_576 }

/** Opens a request with received headers and returns the socket that sends its body. */
async function requested(headers: string): Promise<{ request: IncomingMessage; socket: Socket }> {
  const listening = createServer({ highWaterMark: 262_144, ...createMessageClasses(undefined) }).listen(0, '127.0.0.1')
  server = listening
  await once(listening, 'listening')
  const socket = connect((listening.address() as AddressInfo).port, '127.0.0.1')
  client = socket
  socket.on('error', () => {})
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`)
  const [request] = (await once(listening, 'request')) as [IncomingMessage]
  request.on('error', () => {})
  return { request, socket }
}

const inOneByteChunks = (text: string) => `${[...text].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`

test('completely reads a request body that consists of one-byte chunks', async () => {
  const { request, socket } = await requested('Transfer-Encoding: chunked')
  const body = { names: ['x'.repeat(5_000), 'y'.repeat(5_000)] }
  const read = readJson(request, patient)
  socket.write(inOneByteChunks(JSON.stringify(body)))
  expect(await read).toEqual(body)
})

test('combines unread one-byte chunks into larger chunks', async () => {
  const { request, socket } = await requested('Transfer-Encoding: chunked')
  const text = 'y'.repeat(16_000)
  socket.write(inOneByteChunks(text))
  while (request.readableLength < text.length) await new Promise((resolve) => setImmediate(resolve))
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(request, 'end')
  expect(Buffer.concat(chunks).toString()).toBe(text)
  expect(chunks.length).toBeLessThan(200)
})

test('closes the connection of a client that sends too many small chunks', async () => {
  const { request, socket } = await requested('Transfer-Encoding: chunked')
  const read = readJson(request, patient)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(inOneByteChunks(' '.repeat(200_000)))
  expect(await read.catch((error) => error.message)).toContain('disconnected')
  await closed
})

test('rejects a request body that is incomplete when its timeout expires', async () => {
  const { request, socket } = await requested('Transfer-Encoding: chunked')
  const drip = setInterval(() => socket.write('400\r\n'.concat(' '.repeat(1024), '\r\n')), 5)
  await expect(readJson(request, { ...patient, deadlineMs: 100 })).rejects.toMatchObject({
    code: 'bad_user_input',
    message: 'The request body was not received within 0.1 s. Retry the request, or send a smaller body.',
  })
  clearInterval(drip)
})

test('aborts an upload slower than 2048 bytes per second', async () => {
  const { request, socket } = await requested('Content-Length: 1000000')
  request.resume()
  const drip = setInterval(() => socket.write('z'.repeat(300)), 200)
  const rejected = new Promise((resolve) => {
    const end = watchBody(request, { idleMs: 1_000 }, (error) => {
      end()
      resolve(error)
    })
  })
  expect(await rejected).toMatchObject({ code: 'bad_user_input', message: expect.stringContaining('arrived too slowly') })
  clearInterval(drip)
})

test('reads pending bytes after a pause before deciding whether to abort an upload', async () => {
  const { request, socket } = await requested('Content-Length: 1000000')
  const failed: unknown[] = []
  const end = watchBody(request, { idleMs: 200 }, (error) => failed.push(error))
  const came = once(request, 'data')
  socket.write('z'.repeat(10_000))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  await came
  await new Promise(setImmediate)
  end()
  expect(failed).toEqual([])
})

const callFrom = (ip: string, known = false) =>
  new Call({
    id: 'req_1',
    admission: undefined as unknown as Admission,
    origin: { ip, userAgent: '' },
    ...(known && { actor: { kind: 'user' } as never }),
    signal: () => new AbortController().signal,
  })

test('limits the size, duration and number of unauthenticated request bodies', async () => {
  const bodies = new BodyAdmission({
    maxUploadMb: 1,
    idleMs: 1,
    slots: new UploadSlots(1),
    isDiskFull: () => false,
    tenantRemaining: async () => 0,
  })
  let limits: unknown
  let finish = () => {}
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const one = (call: Call) =>
    bodies.readJson(call, (input) => {
      limits = input
      return held
    })
  const reading = Array.from({ length: 16 }, () => one(callFrom('192.0.2.1')))
  expect(limits).toEqual({ idleMs: 1, deadlineMs: 10_000, maxBytes: 16_384 })
  await expect(one(callFrom('192.0.2.1'))).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 1 })
  reading.push(one(callFrom('192.0.2.2')), one(callFrom('192.0.2.1', true)))
  expect(limits).toEqual({ idleMs: 1, deadlineMs: 30_000, maxBytes: 1_048_576 })
  finish()
  await Promise.all(reading)
  await one(callFrom('192.0.2.1'))
})
