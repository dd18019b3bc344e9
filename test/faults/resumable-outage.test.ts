import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { Spool } from '../../src/platform/spool/spool.js'
import { LocalStorage } from '../../src/platform/storage/local/local.js'
import { findFreePort } from '../support/free-port.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { type ClamdEmulator, startClamdEmulator } from '../support/scripted-clamd.js'
import { Tus } from '../support/tus.js'
import { type TestTenant, World } from '../support/world.js'

const opened = jest.spyOn(LocalStorage.prototype, 'open')
const spooled = jest.spyOn(Spool.prototype, 'receive')
const text = Buffer.alloc(1_500_000, 'one line of plain text\n')

let world: World
let tenant: TestTenant
let tus: Tus
let port: number
let daemon: ClamdEmulator | undefined
beforeAll(async () => {
  port = Number(await findFreePort())
  world = await World.open({ SCANNER_URL: `clamd://127.0.0.1:${port}` })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  tus = new Tus(tenant.admin)
})
afterAll(async () => {
  await world.close()
  await daemon?.close()
})

const rowOf = async (path: string) =>
  (await world.database.pool.query('SELECT *, xmin::text FROM resumable_uploads WHERE upload_id = $1', [path.split('/').at(-1)]))
    .rows[0]
/** Makes the next attempt due and returns its original due time. */
const makeRetryDue = async (path: string): Promise<Date> =>
  (
    await world.database.pool.query(
      'UPDATE resumable_uploads SET decision_retry_at = now() WHERE upload_id = $1 RETURNING decision_retry_at AS at',
      [path.split('/').at(-1)],
    )
  ).rows[0].at
const secondsUntilRetry = async (path: string, from: Date): Promise<number> =>
  ((await rowOf(path)).decision_retry_at.getTime() - from.getTime()) / 1000
const fileAccesses = () => opened.mock.calls.length + spooled.mock.calls.length
const calls = async () => (await tenant.admin.get('/stats/logs?operation=upload')).body.data.pagination.total_items

test("reads only the upload's row for a HEAD request while the scanner is unavailable", async () => {
  const path = await tus.begin('notes', 'a.txt', text.length)
  expect(toStatusAndCode(await tus.patch(path, 0, text))).toEqual([503, 'scanner_unavailable'])
  const [accesses, logged] = [fileAccesses(), await calls()]
  const { lease_token: token } = await rowOf(path)
  expect(token).toBeNull()
  await world.database.pool.query(
    `UPDATE resumable_uploads SET decision_retry_at = now() + interval '1 hour' WHERE upload_id = $1`,
    [path.split('/').at(-1)],
  )
  const { xmin } = await rowOf(path)
  for (let n = 0; n < 5; n++) {
    const head = await tus.head(path)
    expect([head.status, Number(head.headers.get('retry-after')) > 0]).toEqual([423, true])
  }
  expect((await rowOf(path)).xmin).toBe(xmin)
  expect(toStatusAndCode(await tus.patch(path, text.length, ''))).toEqual([503, 'scanner_unavailable'])

  // The next scan attempt queries the scanner before it reads the file.
  const due = await makeRetryDue(path)
  expect((await tus.head(path)).status).toBe(423)
  expect(await secondsUntilRetry(path, due)).toBeGreaterThanOrEqual(4.9)
  expect([fileAccesses(), await calls()]).toEqual([accesses, logged])

  daemon = await startClamdEmulator({}, 'tcp', port)
  await makeRetryDue(path)
  const head = await tus.head(path)
  expect([head.status, head.headers.get('upload-offset')]).toEqual([200, String(text.length)])
  expect(head.headers.get('assay-file-id')).toMatch(/^file_/)
})

test('retries the failed scan of a file with increasing delays', async () => {
  daemon ??= await startClamdEmulator({}, 'tcp', port)
  daemon.script.response = 'stream: Cannot allocate memory ERROR\0'
  const path = await tus.begin('notes', 'a.txt', text.length)
  expect(toStatusAndCode(await tus.patch(path, 0, text))).toEqual([503, 'scanner_unavailable'])
  for (const attempts of [2, 3, 4]) {
    const due = await makeRetryDue(path)
    expect((await tus.head(path)).status).toBe(423)
    expect((await rowOf(path)).decision_attempts).toBe(attempts)
    expect(await secondsUntilRetry(path, due)).toBeGreaterThanOrEqual(5 * 2 ** (attempts - 1) - 0.1)
  }
  delete daemon.script.response
  await makeRetryDue(path)
  expect((await tus.head(path)).headers.get('assay-file-id')).toMatch(/^file_/)
})
