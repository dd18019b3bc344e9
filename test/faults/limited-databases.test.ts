import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../support/database.js'
import { rejectWalFunctions } from '../support/reject-wal-functions.js'
import { WebhookReceiver } from '../support/webhook-receiver.js'
import { World } from '../support/world.js'

test('provides events, webhooks, checkpoints and receipts on a database that rejects WAL functions', async () => {
  const database = await createTestDatabase()
  await rejectWalFunctions(database.url)
  const world = await World.open({ DATABASE_URL: database.url, WEBHOOK_ALLOW_PRIVATE: 'true' })
  const receiver = await WebhookReceiver.open()
  try {
    world.app.services.webhookSender.start()
    const { admin, createContext } = await world.createTenant()
    await createContext('notes')
    expect((await admin.post('/webhooks', { url: receiver.url })).status).toBe(201)
    const { status, body } = await admin.upload('notes', 'a.txt', 'Some text.')
    expect(status).toBe(201)
    const events = await admin.get('/events?types=file.accepted')
    expect([events.status, events.body.data.data]).toEqual([200, [expect.objectContaining({ type: 'file.accepted' })]])
    expect((await admin.raw('/api/v1/log/checkpoint')).status).toBe(200)
    const receipt = await admin.get(`/files/${body.data.file_id}/receipt`)
    expect([receipt.status, receipt.body.data]).toEqual([200, { receipt: expect.any(String) }])
    await receiver.until((received) => received.some((each) => each.body.type === 'file.accepted'))
    expect(world.log.lines.join('\n')).toContain('The database rejects the functions that report its WAL position.')
  } finally {
    await receiver.close()
    await world.close()
  }
})
