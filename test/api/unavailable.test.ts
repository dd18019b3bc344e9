import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { getData, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { World } from '../support/world.js'

let world: World
beforeAll(async () => {
  // No process listens on port 1.
  world = await World.open({ SCANNER_URL: 'clamd://127.0.0.1:1' })
})
afterAll(() => world.close())

test('returns 503 and stores nothing if the scanner is unavailable', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('scanned')
  await tenant.createContext('trusting', { scan_for_viruses: false })
  const key = await tenant.createKey(['upload'])
  const rejected = await key.upload('scanned', 'a.txt', 'text')
  expect(toStatusAndCode(rejected)).toEqual([503, 'scanner_unavailable'])
  expect(toStatusAndCode(await key.upload('scanned', 'a.txt', 'text', { path: '/files/validate' }))).toEqual([
    503,
    'scanner_unavailable',
  ])
  const upload = 'mutation ($file: Upload!) { uploadFile(file: $file, context: "scanned") { fileId } }'
  expect(getGraphqlCode(await key.graphqlUpload(upload, {}, 'a.txt', 'text'))).toBe('SCANNER_UNAVAILABLE')
  // Files that fail an earlier check or need no scan are handled without the scanner.
  expect(toStatusAndCode(await key.upload('scanned', 'a.exe', 'text'))).toEqual([422, 'invalid_extension'])
  getData(await key.upload('trusting', 'a.txt', 'text'), { status: 201, message: true, timestamp: false })

  const calls = getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
  expect(calls.map(({ status, context_key }: { status: string; context_key: string }) => `${context_key} ${status}`)).toEqual([
    'trusting success',
    'scanned failure',
    'scanned failure',
    'scanned failure',
    'scanned failure',
  ])
  expect(calls[4].error_message).toBe(rejected.body.message)
  const { security, overview } = getData(await tenant.admin.get('/stats'))
  expect([security.files_blocked_total, overview.total_files]).toEqual([1, 1])
  const ready = await fetch(`${world.url}/health/ready`)
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { checks: { scanner: { status: 'down' }, database: { status: 'up' } } },
  ])
  expect((await fetch(`${world.url}/health/live`)).status).toBe(200)
})

test('rejects files that require a scan if no scanner is configured', async () => {
  const unscanned = await World.open({ SCANNER_URL: 'none:' }, world)
  try {
    const tenant = await unscanned.createTenant()
    await tenant.createContext('scanned')
    await tenant.createContext('trusting', { scan_for_viruses: false })
    expect(toStatusAndCode(await tenant.admin.upload('scanned', 'a.txt', 'text'))).toEqual([503, 'scanner_unavailable'])
    expect((await tenant.admin.upload('trusting', 'a.txt', 'text')).status).toBe(201)
    const ready = await fetch(`${unscanned.url}/health/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready', checks: { scanner: { status: 'off' } } }])
  } finally {
    await unscanned.close()
  }
})
