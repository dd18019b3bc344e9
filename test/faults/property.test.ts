import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { httpStatus } from '../../src/platform/errors/errors.js'
import { type RawRequest, type RawResponse, sendRaw } from '../support/byte-http.js'
import { createHostileRequest, type KnownObjects } from '../support/hostile-requests.js'
import { World } from '../support/world.js'

let world: World
let known: KnownObjects
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '1' })
  const tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  const limitedKey = await tenant.createKey(['upload'])
  const user = await tenant.createUser(['metadata', 'upload', 'download', 'delete'])
  const fileId = (await tenant.admin.upload('notes', 'a.txt', 'text')).body.data.file_id
  // A second tenant is used because disabling the only admin of the first would reject later requests.
  const second = await tenant.createKey(['upload', 'download', 'metadata', 'delete', 'admin'])
  known = {
    keyId: limitedKey.id,
    fileId,
    contextKey: 'notes',
    credentials: [
      ...Array.from({ length: 4 }, () => `Bearer ${second.credential}`),
      `Bearer ${limitedKey.credential}`,
      `Bearer ${user.credential}`,
      `Bearer assay_${'x'.repeat(43)}`,
      'Bearer a.b.c',
      'Basic \u00ff',
      'Bearer',
    ],
  }
})
afterAll(() => world.close())

test('responds to random requests on any route with a status below 500', async () => {
  const port = Number(new URL(world.url).port)
  await fc.assert(
    fc.asyncProperty(createHostileRequest(known), async (request) => {
      check(request, await sendRaw(port, request))
    }),
    { seed: 20_261_120, numRuns: 1_000, interruptAfterTimeLimit: 30_000, markInterruptAsFailure: false },
  )
  const ready = await fetch(`${world.url}/health/ready`)
  expect(ready.status).toBe(200)
})

function check({ method, target }: RawRequest, { status, headers, body }: RawResponse) {
  expect(status).toBeGreaterThanOrEqual(200)
  expect(status).toBeLessThan(500)
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
  if (status < 400 || method === 'HEAD') return
  // Browsers receive the dashboard page at unknown paths.
  if (status === 404 && headers.get('content-type')?.startsWith('text/html')) return
  const json = JSON.parse(body.toString())
  if (headers.get('content-type')?.startsWith('application/problem+json')) {
    expect(Object.keys(json).sort()).toEqual(['code', 'detail', 'details', 'instance', 'status', 'title', 'type'])
    expect(httpStatus[json.code as keyof typeof httpStatus]).toBe(status)
    return
  }
  if (json.errors && target.startsWith('/graphql')) {
    for (const error of json.errors)
      expect(error).toMatchObject({ message: expect.any(String), extensions: { code: expect.stringMatching(/^[A-Z_]+$/) } })
    return
  }
  expect(Object.keys(json).sort()).toEqual(['error', 'message', 'request_id', 'status', 'timestamp'])
  expect(json.request_id).toBe(headers.get('x-request-id'))
  // HTTP errors 431 and 408 have no error code.
  if (status !== 431 && status !== 408) expect(httpStatus[json.error.code as keyof typeof httpStatus]).toBe(status)
}
