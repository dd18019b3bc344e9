import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MasterKey } from '../../src/access/master-key.js'
import { reencryptSecrets } from '../../src/access/reencrypt.js'
import { getWebhookSecretLabel } from '../../src/access/secrets.js'
import { findFreePort, Service } from '../support/service.js'
import { appendEvents, createReply, WebhookReceiver } from '../support/webhook-receiver.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let receiver: WebhookReceiver
const started: Service[] = []
beforeAll(async () => {
  world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  tenant = await world.createTenant()
  receiver = await WebhookReceiver.open()
})
afterAll(async () => {
  for (const service of started) await service.stop('SIGKILL')
  await receiver.close()
  await world.close()
})

/** Starts a replica in a separate process. */
async function startReplica(): Promise<Service> {
  const service = await Service.start({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, `replica-${started.length}`),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: 'none:',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    PORT: await findFreePort(),
  })
  started.push(service)
  return service
}

test('delivers committed events even if every sending process is killed', async () => {
  await tenant.admin.post('/webhooks', { url: receiver.url, types: ['file.*'] })
  const count = 200
  const last = await appendEvents(
    world,
    tenant.tenantId,
    Array.from({ length: count }, () => ({})),
  )
  for (const heldAt of [30, 90]) {
    // The replica has sent some events and waits for a response.
    receiver.reply = (received, response, nth) => (nth >= heldAt ? undefined : createReply(204)(received, response, nth))
    const service = await startReplica()
    await receiver.atLeast(heldAt)
    await service.stop('SIGKILL')
    // Simulates the passage of half a minute, after which delivery leases have expired.
    await world.database.pool.query('UPDATE webhook_positions SET leased_until = now() WHERE lease_token IS NOT NULL')
  }
  receiver.reply = createReply(204)
  await startReplica()
  await receiver.until(() => receiver.sequences.includes(last))
  const firstSeen = [...new Set(receiver.sequences)]
  expect(firstSeen).toEqual(Array.from({ length: count }, (_, n) => last - count + 1 + n))
  // The sender repeats only deliveries that it had not recorded.
  const repeated = receiver.sequences.length - count
  expect([repeated >= 2, repeated <= 2 * 50]).toEqual([true, true])
}, 120_000)

test('re-encrypts webhook secrets after MASTER_KEY changes', async () => {
  const { body } = await tenant.admin.post('/webhooks', { url: receiver.url })
  const { webhook_id: id, secret: first } = body.data
  const { secret: second } = (await tenant.admin.post(`/webhooks/${id}/rotate-secret`)).body.data
  const renewed = randomBytes(32)
  const { pool } = world.database
  await reencryptSecrets(pool, new MasterKey([renewed, world.config.masterKey!]))
  const { rows } = await pool.query(
    'SELECT secret_encrypted AS now, previous_secret_encrypted AS before FROM webhooks WHERE webhook_id = $1',
    [id],
  )
  const opened = (sealed: Buffer) => new MasterKey([renewed]).decrypt(sealed, getWebhookSecretLabel(id)).then(String)
  expect([await opened(rows[0].now), await opened(rows[0].before)]).toEqual([second, first])
})
