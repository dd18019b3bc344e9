import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { appendEvents, createReply, WebhookReceiver } from '../support/webhook-receiver.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('webhooks in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant
  let receiver: WebhookReceiver

  beforeAll(async () => {
    world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
    world.app.services.webhookSender.start()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    receiver = await WebhookReceiver.open()
  })
  afterAll(async () => {
    await dashboard?.close()
    await receiver.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')

  test('creates, tests, replays, rotates, disables and deletes a webhook in the dashboard', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/webhooks' })
    await button(page, 'New webhook').click()
    await dialog(page).getByLabel('URL').fill('ftp://files.example.com')
    await button(page, 'Create webhook').click()
    await dialog(page).getByText('must be an https: or http: URL').waitFor()
    await dialog(page).getByLabel('URL').fill(receiver.url)
    await dialog(page).getByLabel('Description').fill('Our ledger')
    await dialog(page).getByLabel('Files').check()
    await dialog(page).getByLabel('notes').check()
    await button(page, 'Create webhook').click()
    const secret = (await dialog(page).locator('code').first().textContent())!
    await button(page, 'I have copied the secret').click()
    await page.getByRole('cell', { name: 'Files restricted to notes' }).waitFor()
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('link', { name: receiver.url }).click()
    await button(page, 'Send test event').click()
    await page.getByText(/^Test event delivered: 204 \(\d+ ms\)\.$/).waitFor()
    expect(WebhookReceiver.verify(secret, receiver.received[0]!)).toMatchObject({ type: 'webhook.test' })

    const last = await appendEvents(world, tenant.tenantId, [{}, {}])
    await receiver.atLeast(3)
    // Polls because the service records a delivery after the receiver responds.
    while ((await page.getByRole('cell', { name: 'file.deleted' }).count()) < 2) await button(page, 'Refresh').click()

    const act = async (name: string) => {
      await button(page, `Actions for ${new URL(receiver.url).host}`).click()
      await button(page, name).click()
    }
    await act('Replay events')
    await dialog(page)
      .getByLabel('First event (sequence number)')
      .fill(String(last + 1000))
    await dialog(page).getByRole('button', { name: 'Replay events' }).click()
    await dialog(page).getByText('must be at most').waitFor()
    await dialog(page).getByLabel('First event (sequence number)').fill(String(last))
    await dialog(page).getByRole('button', { name: 'Replay events' }).click()
    await receiver.atLeast(4)
    expect(receiver.sequences.slice(1)).toEqual([last - 1, last, last])

    await act('Rotate secret')
    await dialog(page).getByRole('button', { name: 'Rotate secret' }).click()
    const next = (await dialog(page).locator('code').first().textContent())!
    expect(next).not.toBe(secret)
    await button(page, 'I have copied the secret').click()
    await page.getByText('Old secret valid until').waitFor()

    receiver.reply = createReply(500)
    await button(page, 'Send test event').click()
    await page.getByText(/^Test event failed: 500 \(/).waitFor()
    await act('Disable')
    await dialog(page).getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('heading', { name: 'disabled' }).waitFor()
    await act('Enable')
    await page.getByRole('heading', { name: 'active' }).waitFor()
    await act('Delete')
    const { host } = new URL(receiver.url)
    await dialog(page).getByLabel(`Type ${host} to confirm`).fill(host)
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet').waitFor()
    expect((await tenant.admin.get('/webhooks')).body.data.data).toEqual([])
  })

  test('hides webhooks from users without the admin scope', async () => {
    const page = await dashboard.openSignedIn(tenant, { scopes: ['metadata'] })
    await page.getByRole('link', { name: 'Calls', exact: true }).waitFor()
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
  })
})
