import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/real-parts.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('receipts and transparency log in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.tenant()
    await tenant.context('notes')
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')
  const saved = async (page: Page, name: string): Promise<{ name: string; text: string }> => {
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, name).click()])
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
  }

  test('downloads the receipt of a file and shows the position of its verdict in the log', async () => {
    const fileId = (await tenant.admin.upload('notes', 'é.txt', 'text')).body.data.file_id
    const page = await dashboard.signedIn(tenant, { at: `/files/${fileId}` })
    const { name, text } = await saved(page, 'Download receipt')
    expect([name, decodeJwt(text).sub]).toEqual(['é.txt.receipt.jws', fileId])
    await page.getByText(/^The verdict is entry \d+ of \d+ in the transparency log\.$/).waitFor()
  })

  test('downloads a checkpoint, and creates and revokes an auditor token that is shown once', async () => {
    const page = await dashboard.signedIn(tenant, { at: '/health' })
    const { name, text } = await saved(page, 'Download checkpoint')
    expect(name).toMatch(/^checkpoint-\d+\.txt$/)
    expect(text.split('\n')[0]).toContain(tenant.tenantId)
    await button(page, 'Create auditor token').click()
    const token = (await dialog(page).locator('code').first().textContent())!
    expect((await world.as(token).get('/log/checkpoint')).status).toBe(200)
    await button(page, 'I have copied the token').click()
    expect(await page.content()).not.toContain(token)
    await button(page, 'Revoke').click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No auditor tokens.').waitFor()
    expect((await world.as(token).get('/log/checkpoint')).status).toBe(401)
  })
})
