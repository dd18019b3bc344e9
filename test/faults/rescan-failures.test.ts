import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { getData, toStatusAndCode } from '../support/response-assertions.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

/** Content on which the scanner fails. */
const poison = 'a file that no scanner survives'
const failing = 'stream: Can not allocate memory ERROR\0'

let clamd: UpdatableClamd
let world: World
let tenant: TestTenant
beforeAll(async () => {
  clamd = await UpdatableClamd.start()
  world = await World.open({ SCANNER_URL: clamd.url })
})
afterAll(async () => {
  await world.close()
  await clamd.daemon.close()
})
beforeEach(async () => {
  clamd.stopDetecting()
  tenant = await world.createTenant()
})
// Resets all rescans because readiness covers all tenants.
afterEach(async () => {
  await world.database.pool.query('UPDATE file_contexts SET scan_for_viruses = false')
  await world.database.pool.query('DELETE FROM rescan_queue')
  await world.database.pool.query('DELETE FROM rescans')
})

async function uploadFile(context: string, name: string, content: string): Promise<string> {
  const { status, body } = await tenant.admin.upload(context, name, content)
  expect(status).toBe(201)
  return body.data.file_id
}

/** Installs new signatures. Afterwards, `onPoison` returns the response for the failing file. */
async function failOnPoison(onPoison: () => string = () => failing): Promise<void> {
  await clamd.updateSignatures(world)
  const { version } = clamd.daemon.script
  clamd.daemon.script = { version: version!, response: (stream) => (stream.includes(poison) ? onPoison() : 'stream: OK\0') }
}

/** Simulates the end of the retry delay or of a dead replica's lease. */
const endDelays = () => world.database.pool.query(`UPDATE rescan_queue SET leased_until = now() - interval '1 second'`)

const progressOf = async (context: string) => getData(await tenant.admin.get(`/contexts/${context}/rescan`))
const reportsOf = async (file: string) => getData(await tenant.admin.get(`/files/${file}/validations`)).data

/** Polls until readiness, which is cached, returns this rescan status. Its HTTP status must always be 200. */
async function waitForRescanStatus(expected: object): Promise<void> {
  const isReported = async () => {
    const { status, body } = await world.unauthenticated.raw('/health/ready')
    expect([status, body.status]).toEqual([200, 'ready'])
    return Object.entries(expected).every(([name, value]) => body.checks.rescan[name] === value)
  }
  while (!(await isReported())) await new Promise((resolve) => setTimeout(resolve, 100))
}
const failsOnFile = {
  status: 'degraded',
  reason:
    'Some files could not be rescanned (the scanner could not scan the file). Their reports are marked as incomplete. To retry, start a rescan of the context.',
}

describe('files that the scanner cannot scan', () => {
  test('reports a file as incompletely scanned after three failed attempts, and does not delay other files', async () => {
    for (const context of ['first', 'second']) await tenant.createContext(context)
    const others = [await uploadFile('first', 'a.txt', 'one'), await uploadFile('second', 'b.txt', 'two')]
    const file = await uploadFile('first', 'c.txt', poison)
    await waitForRescanStatus({ status: 'up' })
    await failOnPoison()
    await rescanAll(world)
    for (const other of others) expect(await reportsOf(other)).toHaveLength(2)
    expect(await progressOf('second')).toMatchObject({ status: 'finished', files_failed: 0 })
    expect(await progressOf('first')).toMatchObject({ files_done: 1, finished_at: null })
    await waitForRescanStatus({ ...failsOnFile, files_waiting_for_retry: 1, files_given_up: 0 })

    await endDelays()
    await rescanAll(world)
    expect(await reportsOf(file)).toHaveLength(1)
    // Attempts are stored in the database, so a restarted service makes the last attempt.
    const restarted = await World.open({ SCANNER_URL: clamd.url }, world)
    try {
      await endDelays()
      await rescanAll(restarted)
    } finally {
      await restarted.close()
    }
    expect(await progressOf('first')).toMatchObject({ status: 'finished', files_done: 2, files_scanned: 1, files_failed: 1 })
    const [report, ...earlier] = await reportsOf(file)
    expect(earlier).toHaveLength(1)
    expect(report).toMatchObject({ outcome: 'accepted', reason: null, engine: { signatures_version: clamd.version } })
    expect(report.checks.at(-1)).toMatchObject({
      check: 'virus_detected',
      outcome: 'incomplete',
      message: expect.stringMatching(/^The file was not rescanned: 3 attempts failed\. ./),
      evidence: { attempts: 3, scan_failed: true },
    })
    expect((await tenant.admin.get(`/files/${file}`)).status).toBe(200)
    // With new signatures, the failing file is scanned successfully.
    await waitForRescanStatus({ ...failsOnFile, files_waiting_for_retry: 0, files_given_up: 1 })
    await clamd.updateSignatures(world)
    await rescanAll(world)
    expect(await progressOf('first')).toMatchObject({ status: 'finished', files_failed: 0 })
    await waitForRescanStatus({ status: 'up' })
  })

  test('scans a skipped file again in a requested rescan', async () => {
    await tenant.createContext('notes')
    const file = await uploadFile('notes', 'a.txt', `${poison} ${newlyInfected}`)
    await failOnPoison()
    for (let attempt = 0; attempt < 3; attempt++) {
      await rescanAll(world)
      await endDelays()
    }
    expect(await reportsOf(file)).toHaveLength(2)
    clamd.startDetecting()
    await rescanAll(world)
    expect((await tenant.admin.get(`/files/${file}`)).status).toBe(200)
    getData(await tenant.admin.post('/contexts/notes/rescan'))
    await rescanAll(world)
    expect(toStatusAndCode(await tenant.admin.get(`/files/${file}`))).toEqual([403, 'quarantined'])
    await waitForRescanStatus({ status: 'up' })
  })

  test('makes up to three attempts to scan a file for each signature version', async () => {
    await tenant.createContext('notes')
    const file = await uploadFile('notes', 'a.txt', poison)
    for (let version = 0; version < 2; version++) {
      await failOnPoison()
      for (let attempt = 0; attempt < 2; attempt++) {
        await rescanAll(world)
        await endDelays()
      }
      expect(await reportsOf(file)).toHaveLength(1)
    }
    await rescanAll(world)
    expect(await reportsOf(file)).toHaveLength(2)
  })

  test('skips only the file that made the scanner unavailable three times', async () => {
    await tenant.createContext('notes')
    const files = []
    for (let n = 0; n < 5; n++) files.push(await uploadFile('notes', `${n}.txt`, n === 3 ? poison : `note ${n}`))
    let deaths = 0
    await failOnPoison(() => {
      deaths++
      clamd.daemon.script = { ...clamd.daemon.script, proof: failing }
      return failing
    })
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(rescanAll(world)).rejects.toThrow('the scanner is unavailable')
      expect(deaths).toBe(attempt + 1)
      // Attempts do not count while the scanner is unavailable.
      await endDelays()
      await expect(rescanAll(world)).rejects.toThrow('EICAR')
      const { proof: _, ...working } = clamd.daemon.script
      clamd.daemon.script = working
      await endDelays()
    }
    await rescanAll(world)
    expect(deaths).toBe(3)
    expect(await progressOf('notes')).toMatchObject({ status: 'finished', files_scanned: 4, files_failed: 1 })
    const [report] = await reportsOf(files[3]!)
    expect(report.checks.at(-1)).toMatchObject({ outcome: 'incomplete', evidence: { attempts: 3, scan_failed: true } })
  })

  test('skips only the file whose scans were interrupted by three service crashes', async () => {
    await tenant.createContext('notes')
    const files = []
    for (let n = 0; n < 5; n++) files.push(await uploadFile('notes', `${n}.txt`, `note ${n}`))
    await clamd.updateSignatures(world)
    await rescanAll(world)
    await clamd.updateSignatures(world)
    const { rescans } = world.app.services
    await rescans.startDueRescans(await rescans.getScannerSignatures())
    // Simulates killed services. The first one leased all files, and each later one the file that it scanned.
    await world.database.pool.query(
      `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, lease_token, attempts)
       SELECT tenant_id, file_id, context_id, now(), 'killed', CASE WHEN file_id = $2 THEN 3 ELSE 1 END FROM files WHERE tenant_id = $1`,
      [tenant.tenantId, files[2]],
    )
    await endDelays()
    const { requests: requested } = clamd.daemon
    await rescanAll(world)
    expect(clamd.daemon.requests - requested).toBe(4)
    const [report] = await reportsOf(files[2]!)
    expect(report.checks.at(-1)).toMatchObject({
      outcome: 'incomplete',
      evidence: { cause: 'The service stopped during every scan attempt.' },
    })
  })
})

describe('stored files that cannot be read', () => {
  test('does not delay a rescan if a stored file cannot be read', async () => {
    await tenant.createContext('notes')
    const [damaged, complete] = [await uploadFile('notes', 'a.txt', 'broken'), await uploadFile('notes', 'b.txt', 'whole')]
    await clamd.updateSignatures(world)
    const { storage } = world.app.services
    const { open } = storage
    const { rows } = await world.database.pool.query<{ path: string }>('SELECT blob_path AS path FROM files WHERE file_id = $1', [
      damaged,
    ])
    storage.open = async (path, range) => {
      if (path === rows[0]!.path) throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
      return open.call(storage, path, range)
    }
    try {
      for (let attempt = 0; attempt < 3; attempt++) {
        await rescanAll(world)
        await endDelays()
      }
    } finally {
      storage.open = open
    }
    expect(await reportsOf(complete)).toHaveLength(2)
    expect(await progressOf('notes')).toMatchObject({ status: 'finished', files_failed: 1 })
    const [report] = await reportsOf(damaged)
    expect(report.checks.at(-1)).toMatchObject({ outcome: 'incomplete' })
    expect(JSON.stringify(report)).not.toContain('EIO')
  })
})
