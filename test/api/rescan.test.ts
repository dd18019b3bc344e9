import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { holdFile } from '../support/quarantined-file.js'
import { getData, toStatusAndCode } from '../support/response-assertions.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let clamd: UpdatableClamd
let world: World
let tenant: TestTenant
let admin: Caller
beforeAll(async () => {
  clamd = await UpdatableClamd.start()
  world = await World.open({ SCANNER_URL: clamd.url })
  tenant = await world.createTenant()
  admin = tenant.admin
})
afterAll(async () => {
  await world.close()
  await clamd.daemon.close()
})

async function uploadFile(context: string, name: string, content: string): Promise<string> {
  const { status, body } = await admin.upload(context, name, content)
  expect(status).toBe(201)
  return body.data.file_id
}

/** Uploads an infected file before the signatures detect it. */
function uploadInfectedFile(context: string, name: string): Promise<string> {
  clamd.stopDetecting()
  return uploadFile(context, name, `${name} with ${newlyInfected} in it`)
}

const updateSignatures = () => clamd.updateSignatures(world)
const getProgress = async (context: string) => getData(await admin.get(`/contexts/${context}/rescan`))
const reportsOf = async (file: string) => getData(await admin.get(`/files/${file}/validations`)).data

describe('rescans after a signature change', () => {
  test('rescans stored files after a signature change and adds a report for each scan', async () => {
    await tenant.createContext('notes')
    const files = []
    for (const name of ['one', 'two', 'three']) files.push(await uploadFile('notes', `${name}.txt`, `the words of ${name}`))
    await rescanAll(world)
    expect(await reportsOf(files[0]!)).toHaveLength(1)
    const before = clamd.version
    const version = await updateSignatures()
    await rescanAll(world)
    for (const file of files) {
      const [latest, first, ...others] = await reportsOf(file)
      expect(others).toEqual([])
      expect(latest).toMatchObject({ outcome: 'accepted', engine: { signatures_version: version } })
      expect(first).toMatchObject({ outcome: 'accepted', engine: { signatures_version: before } })
      expect(getData(await admin.get(`/files/${file}/validation`))).toEqual(latest)
    }
    expect(getData(await admin.get('/contexts/notes/rescan'))).toMatchObject({
      context_key: 'notes',
      status: 'finished',
      signatures: `ClamAV ${version}`,
      files: 3,
      files_done: 3,
      files_scanned: 3,
      files_quarantined: 0,
      files_failed: 0,
    })
    // A second run scans no file because each file is scanned once per signature version.
    await rescanAll(world)
    expect(await reportsOf(files[0]!)).toHaveLength(2)
  })

  test('quarantines an infected file but still counts it in statistics', async () => {
    await tenant.createContext('mail')
    const file = await uploadInfectedFile('mail', 'letter.txt')
    const { download_url: url } = (await admin.get(`/files/${file}`)).body.data
    expect((await fetch(url)).status).toBe(200)
    const version = await updateSignatures()
    await rescanAll(world)
    expect((await fetch(url)).status).toBe(403)
    for (const response of [
      await admin.get(`/files/${file}`),
      await admin.get(`/files/${file}/metadata`),
      await admin.delete(`/files/${file}`),
    ]) {
      expect(response.status).toBe(403)
      expect(response.body.error.code).toBe('quarantined')
    }
    expect(getData(await admin.get('/files?context=mail')).pagination.total_items).toBe(1)
    const { data, pagination } = getData(await admin.get('/quarantine?context=mail'))
    expect(pagination.total_items).toBe(1)
    expect(data).toEqual([
      {
        file_id: file,
        original_filename: 'letter.txt',
        size_bytes: expect.any(Number),
        context_key: 'mail',
        viruses: ['Test.Tomorrow'],
        signatures: `ClamAV ${version}`,
        quarantined_at: expect.any(String),
      },
    ])
    expect(getData(await admin.get(`/files/${file}/validation`))).toMatchObject({ outcome: 'rejected', reason: 'virus_detected' })

    expect(getData(await admin.post(`/quarantine/${file}/release`, { reason: 'A false alarm.' }))).toEqual({ file_id: file })
    expect((await fetch(url)).status).toBe(200)
    await rescanAll(world)
    getData(await admin.post('/contexts/mail/rescan'))
    await rescanAll(world)
    expect((await fetch(url)).status).toBe(200)
    expect((await admin.post(`/quarantine/${file}/release`, { reason: 'Again.' })).status).toBe(404)

    await updateSignatures()
    await rescanAll(world)
    expect((await fetch(url)).status).toBe(403)
    expect(getData(await admin.delete(`/quarantine/${file}`))).toEqual({ file_id: file })
    expect((await admin.get(`/files/${file}`)).status).toBe(404)
    expect(getData(await admin.get('/files?context=mail')).pagination.total_items).toBe(0)
    expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId })).toMatchObject({ countersDrift: 0 })
    const audits = getData(await admin.get(`/audit-logs/entity/file/${file}`)).data
    expect(
      audits.map(({ action, details }: { action: string; details: { change?: string } }) => [action, details.change]),
    ).toEqual([
      ['deleted', 'purged'],
      ['updated', 'quarantined'],
      ['updated', 'released'],
      ['updated', 'quarantined'],
      ['created', undefined],
    ])
    const events = (await admin.get('/events?types=file.*&limit=1000')).body.data.data
    const ofFile = events.filter(({ data }: { data: { file_id: string } }) => data.file_id === file)
    expect(ofFile.map(({ type }: { type: string }) => type)).toEqual([
      'file.accepted',
      'file.quarantined',
      'file.released',
      'file.quarantined',
      'file.purged',
    ])
  })
})

describe('requested rescans', () => {
  test('does not start a requested rescan in a context that does not scan files', async () => {
    await tenant.createContext('unscanned', { scan_for_viruses: false })
    const file = await uploadInfectedFile('unscanned', 'a.txt')
    expect(getData(await admin.post('/contexts/unscanned/rescan'))).toMatchObject({ status: 'off', started_at: null })
    await updateSignatures()
    await rescanAll(world)
    expect(await reportsOf(file)).toHaveLength(1)
    expect((await admin.get(`/files/${file}/metadata`)).status).toBe(200)
  })

  test('accepts a rescan request if the policy disables automatic rescans', async () => {
    await tenant.createContext('left_alone')
    getData(await admin.patch('/contexts/left_alone/policy', { rescan: false }))
    const file = await uploadInfectedFile('left_alone', 'a.txt')
    await updateSignatures()
    await rescanAll(world)
    expect(await reportsOf(file)).toHaveLength(1)
    expect(await getProgress('left_alone')).toMatchObject({ status: 'none', signatures: null })
    expect(getData(await admin.post('/contexts/left_alone/rescan'))).toMatchObject({ status: 'running', files: 1, files_done: 0 })
    await rescanAll(world)
    expect(await getProgress('left_alone')).toMatchObject({ status: 'finished', files_done: 1, files_quarantined: 1 })
    expect(await reportsOf(file)).toHaveLength(2)
  })

  test('scans a file again on request even if the signatures did not change', async () => {
    await tenant.createContext('again')
    const [clean, hidden] = [await uploadFile('again', 'clean.txt', 'clean'), await uploadInfectedFile('again', 'hidden.txt')]
    const { requests: requested } = clamd.daemon
    getData(await admin.post('/contexts/again/rescan'))
    await rescanAll(world)
    expect(clamd.daemon.requests - requested).toBe(2)
    expect(await reportsOf(clean)).toHaveLength(1)
    // Adds a signature without changing the version that clamd reports.
    clamd.startDetecting()
    getData(await admin.post('/contexts/again/rescan'))
    await rescanAll(world)
    expect(await reportsOf(clean)).toHaveLength(1)
    expect(await reportsOf(hidden)).toHaveLength(2)
    expect(toStatusAndCode(await admin.get(`/files/${hidden}`))).toEqual([403, 'quarantined'])
  })

  test('starts a rescan over GraphQL', async () => {
    await tenant.createContext('by_graphql')
    const file = await uploadInfectedFile('by_graphql', 'a.txt')
    const fields = 'contextKey status files filesDone filesScanned bytesScanned filesQuarantined filesFailed startedAt finishedAt'
    clamd.startDetecting()
    const started = await admin.graphql(`mutation { rescanContext(contextKey: "by_graphql") { ${fields} } }`)
    expect(started.body.data.rescanContext).toMatchObject({ status: 'running', files: 1 })
    await rescanAll(world)
    const { body } = await admin.graphql(
      `{ context(contextKey: "by_graphql") { rescanProgress { ${fields} } }
         fileValidations(fileId: "${file}") { data { outcome } pagination { totalItems } }
         quarantine(context: "by_graphql") { data { fileId viruses } } }`,
    )
    expect(body.data).toMatchObject({
      context: { rescanProgress: { contextKey: 'by_graphql', status: 'finished', filesDone: 1, filesQuarantined: 1 } },
      fileValidations: { data: [{ outcome: 'rejected' }, { outcome: 'accepted' }], pagination: { totalItems: 2 } },
      quarantine: { data: [{ fileId: file, viruses: ['Test.Tomorrow'] }] },
    })
    const released = await admin.graphql(
      `mutation { releaseFromQuarantine(fileId: "${file}", reason: "Known to us.") { fileId } }`,
    )
    expect(released.body.data.releaseFromQuarantine).toEqual({ fileId: file })
    await updateSignatures()
    await rescanAll(world)
    const purged = await admin.graphql(`mutation { purgeFromQuarantine(fileId: "${file}") { fileId } }`)
    expect(purged.body.data.purgeFromQuarantine).toEqual({ fileId: file })
    expect((await admin.get(`/files/${file}`)).status).toBe(404)
  })
})

describe('background rescans', () => {
  test('scans the newest files first in a background rescan', async () => {
    await tenant.createContext('ordered')
    const files = []
    for (let n = 0; n < 40; n++) files.push(await uploadFile('ordered', `${n}.txt`, `the words of number ${n}`))
    const order: string[] = []
    await updateSignatures()
    clamd.daemon.script = {
      version: clamd.daemon.script.version!,
      response: (stream) => {
        const words = /the words of number \d+/.exec(stream.toString('latin1'))?.[0]
        if (words) order.push(words)
        return 'stream: OK\0'
      },
    }
    await rescanAll(world)
    const numbers = order.map((words) => Number(words.split(' ').at(-1)))
    expect(numbers).toHaveLength(40)
    // Two scans run concurrently, so at most one newer file is still unfinished when a scan ends.
    const newerLeft = numbers.map((n, place) => 39 - n - numbers.slice(0, place).filter((earlier) => earlier > n).length)
    expect(newerLeft.filter((remaining) => remaining > 1)).toEqual([])
  })

  test('pauses a background rescan while the scanner is unavailable', async () => {
    await tenant.createContext('patient')
    const file = await uploadInfectedFile('patient', 'a.txt')
    await updateSignatures()
    clamd.daemon.script = { ...clamd.daemon.script, response: () => 'stream: Can not allocate memory ERROR\0' }
    while (!['paused'].includes((await getProgress('patient')).status)) await world.app.rescanner.scanNextBatch().catch(() => {})
    expect(await reportsOf(file)).toHaveLength(1)
    clamd.startDetecting()
    await world.database.pool.query('UPDATE rescan_queue SET leased_until = now() WHERE lease_token IS NULL')
    await rescanAll(world)
    expect(await getProgress('patient')).toMatchObject({ status: 'finished', files_quarantined: 1 })
  })

  test('continues a background rescan after it reaches a file with missing content', async () => {
    await tenant.createContext('damaged')
    const [lost, intact] = [await uploadFile('damaged', 'a.txt', 'lost'), await uploadFile('damaged', 'b.txt', 'kept')]
    const { rows } = await world.database.pool.query<{ path: string }>('SELECT blob_path AS path FROM files WHERE file_id = $1', [
      lost,
    ])
    await world.app.services.storage.remove(rows[0]!.path)
    await updateSignatures()
    await rescanAll(world)
    expect(await getProgress('damaged')).toMatchObject({ status: 'finished', files_done: 2, files_scanned: 1, files_failed: 1 })
    expect(await reportsOf(intact)).toHaveLength(2)
    await admin.delete(`/files/${lost}`)
  })

  test('stores no rescan report for a file that is deleted before, during or after the scan', async () => {
    await tenant.createContext('fleeting')
    const file = await uploadFile('fleeting', 'a.txt', 'soon gone')
    await updateSignatures()
    let deletion: Promise<unknown> | undefined
    clamd.daemon.script = {
      ...clamd.daemon.script,
      response: (stream) => {
        if (stream.includes('soon gone')) deletion = admin.delete(`/files/${file}`)
        return 'stream: OK\0'
      },
    }
    await rescanAll(world)
    await deletion
    const remaining = await world.database.pool.query(
      'SELECT file_id FROM validation_reports WHERE file_id = $1 UNION ALL SELECT file_id FROM rescan_queue WHERE file_id = $1',
      [file],
    )
    expect(remaining.rows).toEqual([])
  })

  test('counts background rescans in the metrics', async () => {
    const text = (await world.unauthenticated.raw('/metrics')).body as string
    for (const line of [
      /^assay_rescanned_files_total\{outcome="clean"\} [1-9]/m,
      /^assay_rescanned_files_total\{outcome="infected"\} [1-9]/m,
      /^assay_rescanned_bytes_total [1-9]/m,
      /^assay_rescans_under_way 0$/m,
      /^assay_quarantined_files [1-9]/m,
    ])
      expect(text).toMatch(line)
  })
})

describe('quarantined files', () => {
  test('stops ongoing downloads of a file within a second after the file is quarantined', async () => {
    await tenant.createContext('large', { max_file_size_mb: 64, allowed_extensions: ['txt'] })
    clamd.stopDetecting()
    const file = await uploadFile('large', 'large.txt', `${newlyInfected}${', some text'.repeat(2_000_000)}`)
    const { download_url: url } = (await admin.get(`/files/${file}`)).body.data
    const [[, served], response] = await Promise.all([once(world.app.httpServer, 'request'), fetch(url)])
    const reader = response.body!.getReader()
    await reader.read()
    await updateSignatures()
    await rescanAll(world)
    expect(toStatusAndCode(await admin.get(`/files/${file}`))).toEqual([403, 'quarantined'])
    const ranged = await fetch(url, { headers: { range: 'bytes=0-9' } })
    expect(ranged.status).toBe(403)
    // The remaining bytes exceed all socket buffers, so a complete download would be noticed.
    if (!served.closed) await once(served, 'close')
    const rest = async () => {
      while (!(await reader.read()).done);
    }
    await expect(rest()).rejects.toThrow()
  })

  test('rejects the purge of a quarantined file on hold', async () => {
    await tenant.createContext('held')
    const file = await uploadInfectedFile('held', 'a.txt')
    await updateSignatures()
    await rescanAll(world)
    await holdFile(world, tenant, file)
    expect(toStatusAndCode(await admin.delete(`/quarantine/${file}`))).toEqual([409, 'on_hold'])
    expect(getData(await admin.get('/quarantine?context=held')).pagination.total_items).toBe(1)
  })

  test('reports a file that has a quarantine time but no row in the quarantine table', async () => {
    const { storageHealth } = world.app.services
    const { countersDrift } = await storageHealth.verify({ tenantId: tenant.tenantId })
    const one = await world.database.pool.query<{ file_id: string }>(
      'DELETE FROM quarantine WHERE tenant_id = $1 AND file_id = (SELECT min(file_id) FROM quarantine WHERE tenant_id = $1) RETURNING file_id',
      [tenant.tenantId],
    )
    expect((await storageHealth.verify({ tenantId: tenant.tenantId })).countersDrift).toBe(countersDrift + 1)
    await world.database.pool.query('UPDATE files SET quarantined_at = NULL WHERE file_id = $1', [one.rows[0]!.file_id])
    expect((await storageHealth.verify({ tenantId: tenant.tenantId })).countersDrift).toBe(countersDrift)
  })

  test('requires a reason to release a quarantined file', async () => {
    await tenant.createContext('many')
    const files = []
    for (const n of [1, 2, 3]) files.push(await uploadInfectedFile('many', `${n}.txt`))
    await updateSignatures()
    await rescanAll(world)
    expect(toStatusAndCode(await admin.post(`/quarantine/${files[0]}/release`, {}))).toEqual([400, 'bad_user_input'])
    const first = await admin.get('/quarantine?context=many&page_size=2')
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')![1]!
    const second = await admin.raw(next)
    const listed = [...getData(first).data, ...getData(second).data].map(({ file_id }: { file_id: string }) => file_id)
    expect(listed.sort()).toEqual(files.sort())
  })
})
