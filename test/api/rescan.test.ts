import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { dataOf } from '../support/answers.js'
import { closeAll, daemonThat } from '../support/clamd-scanner.js'
import type { ScriptedClamd } from '../support/scripted-clamd.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const bad = 'what is a virus only tomorrow'

let clamd: ScriptedClamd
let world: World
let tenant: TestTenant
let admin: Caller
let day = 27_900
beforeAll(async () => {
  clamd = await daemonThat({ version: versionOf(day) })
  world = await World.open({ SCANNER_URL: clamd.url })
  tenant = await world.tenant()
  admin = tenant.admin
  await tenant.context('other')
})
afterAll(async () => {
  await world.close()
  await closeAll()
})

const versionOf = (signatures: number) => `ClamAV 1.4.6/${signatures}/Sun Nov 22 09:12:13 2026`

/** New signatures, which find `bad`. Each scan asks for the version, so that the service knows it from the next upload on. */
async function learn(version = versionOf(++day)): Promise<string> {
  const answer = (stream: Buffer) => (stream.includes(bad) ? 'stream: Test.Tomorrow FOUND\0' : 'stream: OK\0')
  clamd.script = { version, answer }
  await uploaded('other', 'any.txt', 'anything')
  return String(day)
}

/** Today's signatures again find nothing in `bad`. */
const forget = () => {
  clamd.script = { version: versionOf(day) }
}

async function rescanAll(of = world): Promise<void> {
  while (await of.app.rescanner.turn()) {}
}

async function uploaded(context: string, name: string, content: string): Promise<string> {
  const { status, body } = await admin.upload(context, name, content)
  expect(status).toBe(201)
  return body.data.file_id
}

const reportsOf = async (file: string) => dataOf(await admin.get(`/files/${file}/validations`)).data

describe('when the scanner’s signatures change', () => {
  test('kept files are scanned again, and each scan adds a report', async () => {
    await tenant.context('notes')
    const files = []
    for (const name of ['one', 'two', 'three']) files.push(await uploaded('notes', `${name}.txt`, `the words of ${name}`))
    await rescanAll()
    expect(await reportsOf(files[0]!)).toHaveLength(1)
    const version = await learn()
    await rescanAll()
    for (const file of files) {
      const [latest, first, ...others] = await reportsOf(file)
      expect(others).toEqual([])
      expect(latest).toMatchObject({ outcome: 'accepted', engine: { signatures_version: version } })
      expect(first).toMatchObject({ outcome: 'accepted', engine: { signatures_version: String(day - 1) } })
      expect(dataOf(await admin.get(`/files/${file}/validation`))).toEqual(latest)
    }
    expect(dataOf(await admin.get('/contexts/notes/rescan'))).toMatchObject({
      context_key: 'notes',
      status: 'finished',
      signatures: `ClamAV ${version}`,
      files: 3,
      files_done: 3,
      files_scanned: 3,
      files_quarantined: 0,
      files_failed: 0,
    })
    // Once for each version, however often there is a turn.
    await rescanAll()
    expect(await reportsOf(files[0]!)).toHaveLength(2)
  })

  test('a file that is infected by now is quarantined: nothing reads it, and it counts', async () => {
    forget()
    await tenant.context('mail')
    const file = await uploaded('mail', 'letter.txt', `a letter with ${bad} in it`)
    const { download_url: url } = (await admin.get(`/files/${file}`)).body.data
    expect((await fetch(url)).status).toBe(200)
    const version = await learn()
    await rescanAll()
    expect((await fetch(url)).status).toBe(403)
    for (const answer of [
      await admin.get(`/files/${file}`),
      await admin.get(`/files/${file}/metadata`),
      await admin.delete(`/files/${file}`),
    ]) {
      expect(answer.status).toBe(403)
      expect(answer.body.error.code).toBe('quarantined')
    }
    expect(dataOf(await admin.get('/files?context=mail')).pagination.total_items).toBe(1)
    const { data, pagination } = dataOf(await admin.get('/quarantine?context=mail'))
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
    expect(dataOf(await admin.get(`/files/${file}/validation`))).toMatchObject({ outcome: 'rejected', reason: 'virus_detected' })

    expect(dataOf(await admin.post(`/quarantine/${file}/release`, { reason: 'A false alarm.' }))).toEqual({ file_id: file })
    expect((await fetch(url)).status).toBe(200)
    await rescanAll()
    dataOf(await admin.post('/contexts/mail/rescan'))
    await rescanAll()
    expect((await fetch(url)).status).toBe(200)
    expect((await admin.post(`/quarantine/${file}/release`, { reason: 'Again.' })).status).toBe(404)

    await learn()
    await rescanAll()
    expect((await fetch(url)).status).toBe(403)
    expect(dataOf(await admin.delete(`/quarantine/${file}`))).toEqual({ file_id: file })
    expect((await admin.get(`/files/${file}`)).status).toBe(404)
    expect(dataOf(await admin.get('/files?context=mail')).pagination.total_items).toBe(0)
    expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId })).toMatchObject({ countersDrift: 0 })
    const audits = dataOf(await admin.get(`/audit-logs/entity/file/${file}`)).data
    expect(
      audits.map(({ action, details }: { action: string; details: { change?: string } }) => [action, details.change]),
    ).toEqual([
      ['deleted', 'purged'],
      ['updated', 'quarantined'],
      ['updated', 'released'],
      ['updated', 'quarantined'],
      ['created', undefined],
    ])
  })
})
