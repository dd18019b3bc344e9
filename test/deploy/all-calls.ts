import { expect } from '@jest/globals'
import { routes } from '../../src/api/rest/routes.js'
import { createCommandEnv, runAdminCommand as runAdmin, writeFiles } from '../support/adoption.js'
import { LinkClient } from '../support/link-client.js'
import { createQuarantinedFile } from '../support/quarantined-file.js'
import { Tus } from '../support/tus.js'
import { appendEvents, createReply, WebhookReceiver } from '../support/webhook-receiver.js'
import type { Caller, TestTenant, World } from '../support/world.js'

const nowhere = 'http://127.0.0.1:9/nowhere'

/** Calls every route with valid data and returns the routes that failed. */
export async function callEverything(world: World, tenant: TestTenant): Promise<string[]> {
  const { admin } = tenant
  await tenant.createContext('notes', { scan_for_viruses: false })
  await tenant.createContext('spare')
  const key = await tenant.createKey(['upload'])
  const files: string[] = []
  for (const name of ['a.txt', 'b.txt', 'c.txt'])
    files.push((await admin.upload('notes', name, `text of ${name}`, { headers: { 'idempotency-key': name } })).body.data.file_id)
  await admin.upload('notes', 'a.exe', 'MZ')
  const webhook = (await admin.post('/webhooks', { url: nowhere })).body.data.webhook_id
  const tus = new Tus(admin)
  const upload = await tus.begin('notes', 'd.txt', 4)
  // The service merges the second uploaded part with the first.
  for (const at of [0, 1]) await tus.patch(upload, at, 'x')
  const values: Record<string, string> = {
    file_id: files[0]!,
    api_key_id: key.id,
    context_key: 'spare',
    entity_type: 'file',
    entity_id: files[0]!,
    webhook_id: webhook,
    call_id: (await admin.get('/stats/logs?operation=upload&page_size=1')).body.data.data[0].call_id,
    link_id: await useUploadLink(admin),
    share_id: (await admin.post('/log/share', {})).body.data.share_id,
  }
  const infected: Record<string, string> = {}
  for (const name of ['POST /quarantine/{file_id}/release', 'DELETE /quarantine/{file_id}'])
    infected[name] = await createQuarantinedFile(world, tenant, 'notes')
  await tenant.createContext('binned', { scan_for_viruses: false })
  await admin.patch('/contexts/binned/policy', { trash_days: 1, retention_days: 1 })
  for (const name of ['POST /trash/{file_id}/restore', 'DELETE /trash/{file_id}', 'left in the trash']) {
    infected[name] = (await admin.upload('binned', 'bin.txt', name)).body.data.file_id
    await admin.delete(`/files/${infected[name]}`)
  }
  await admin.upload('binned', 'old.txt', 'old')
  const bodies: Record<string, unknown> = {
    'POST /contexts/{context_key}/preview': { max_file_size_mb: 1 },
    'POST /quarantine/{file_id}/release': { reason: 'A false alarm.' },
    'PUT /files/{file_id}/hold': { reason: 'A case.' },
    'POST /api-keys': { name: 'Another', scopes: ['metadata'] },
    'POST /contexts': { context_key: 'more', display_name: 'More', allowed_extensions: ['txt'], max_file_size_mb: 1 },
    'PATCH /contexts/{context_key}': { display_name: 'Other' },
    'PATCH /contexts/{context_key}/policy': { accept_unscanned: true },
    'POST /files/delete': { file_ids: [files[1]] },
    'PATCH /tenant': { name: 'Other' },
    'POST /upload-links': { context: 'notes' },
    'POST /webhooks': { url: nowhere },
    'PATCH /webhooks/{webhook_id}': { description: 'Other' },
    'POST /webhooks/{webhook_id}/replay': { from_sequence: 1 },
  }
  const form = () => {
    const body = new FormData()
    body.append('context', 'notes')
    body.append('file', new Blob(['more']), 'e.txt')
    return body
  }
  const last = [
    'POST /api-keys/{api_key_id}/disable',
    'POST /api-keys/{api_key_id}/enable',
    'DELETE /webhooks/{webhook_id}',
    'DELETE /upload-links/{link_id}',
    'DELETE /contexts/{context_key}',
    'DELETE /files/{file_id}',
    'POST /api-keys/{api_key_id}/revoke',
  ]
  const order = [...routes].sort((a, b) => last.indexOf(`${a.method} ${a.path}`) - last.indexOf(`${b.method} ${b.path}`))
  const failed: string[] = []
  for (const { method, path, body } of order) {
    const name = `${method} ${path}`
    const filled = path.replaceAll(
      /\{(\w+)\}/g,
      (_all, value: string) => (value === 'file_id' && infected[name]) || (values[value] ?? value),
    )
    for (const more of method === 'GET' ? ['', '?page=2&page_size=1'] : ['']) {
      const { status } = await admin.rest(method, filled + more, body === 'multipart' ? form() : bodies[name])
      if (status >= 400 && more === '') failed.push(`${name}: ${status}`)
    }
  }
  for (const log of ['/stats/logs/export', '/audit-logs/export']) await admin.get(log)
  const auditor = world.createCaller((await admin.post('/log/share', {})).body.data.token)
  for (const path of ['checkpoint', 'key', 'tile/0/000.p/1', 'tile/1/000.p/1', 'tile/entries/000.p/1'])
    await auditor.get(`/log/${path}`)
  for (const filter of ['context=notes', 'sort=size_bytes', 'name_prefix=a', `uploaded_by=${key.id}`])
    await admin.get(`/files?${filter}`)
  await admin.graphql(
    '{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } mySessions { id } }',
  )
  return failed
}

/** Uploads an accepted and a rejected file through a new link and returns the link's id. */
async function useUploadLink(admin: Caller): Promise<string> {
  const link = await LinkClient.create(admin, 'notes', { max_files: 3 })
  await link.put('e.txt', 'through a link')
  await link.put('e.exe', 'MZ')
  return link.id
}

/** Sends two webhook events, of which the receiver rejects the second. */
export async function sendEvents(world: World, tenant: TestTenant): Promise<void> {
  const receiver = await WebhookReceiver.open()
  receiver.reply = (received, response, nth) => createReply(nth === 1 ? 204 : 500)(received, response, nth)
  const { body } = await tenant.admin.post('/webhooks', { url: receiver.url, types: ['file.*'] })
  world.app.services.webhookSender.start()
  await appendEvents(world, tenant.tenantId, [{}, {}])
  const failing = async () => (await tenant.admin.get(`/webhooks/${body.data.webhook_id}`)).body.data.failing_since
  while ((await failing()) === null) await new Promise((resolve) => setTimeout(resolve, 20))
  await receiver.close()
}

/** Adopts an object that another program stored. */
export async function adoptObject(world: World, { tenantId }: TestTenant): Promise<void> {
  const root = new URL(world.config.storageUrl).pathname
  await writeFiles(root, { [`${tenantId}/import/object.txt`]: 'stored by another program' })
  const { result } = await runAdmin(createCommandEnv(world), 'adopt', '--context', 'notes', `file://${root}/${tenantId}/import`)
  expect(result).toMatchObject({ accepted: 1 })
}

/** Deletes a tenant with a file and an unfinished upload. */
export async function deleteTenant(world: World): Promise<void> {
  const doomed = await world.createTenant()
  await doomed.createContext('notes', { scan_for_viruses: false })
  await doomed.admin.upload('notes', 'a.txt', 'text')
  const tus = new Tus(doomed.admin)
  await tus.patch(await tus.begin('notes', 'd.txt', 4), 0, 'x')
  expect(await world.app.services.tenants.delete(doomed.tenantId, doomed.name)).toMatchObject({ files: 1 })
}
