import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import jsqr from 'jsqr'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { LinkClient } from '../support/link-client.js'
import { type TestTenant, World } from '../support/world.js'

// Jest resolves the package as CommonJS, which exports the function as a property.
const readQrCode = ((jsqr as never as { default?: typeof jsqr.default }).default ?? jsqr) as typeof jsqr.default

describeWith('chromium')('upload links in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant
  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes', { display_name: 'Notes' })
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')

  test('creates and revokes an upload link and shows its QR code only once', async () => {
    const page = await dashboard.openSignedIn(tenant)
    await page.getByRole('link', { name: 'Upload links' }).click()
    await page.getByText('No upload links yet').waitFor()
    await button(page, 'New upload link').click()
    await dialog(page).getByLabel('Maximum number of files').fill('2')
    await dialog(page).getByLabel('Maximum file size (MB)').fill('6')
    await dialog(page).getByLabel('Allowed extensions').fill('txt, exe')
    await button(page, 'Create link').click()
    await dialog(page).getByText('must be at most 5').waitFor()
    await dialog(page).getByText('must be allowed in context').waitFor()
    await dialog(page).getByLabel('Maximum file size (MB)').fill('3')
    await dialog(page).getByLabel('Allowed extensions').fill('txt, pdf')
    await button(page, 'Create link').click()

    const url = (await dialog(page).locator('code').first().textContent())!
    await dialog(page).getByRole('button', { name: 'Copy' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(url)
    const shot = await page.getByRole('img', { name: 'QR code for the upload link' }).screenshot()
    const { data, info } = await sharp(shot).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    expect(readQrCode(new Uint8ClampedArray(data), info.width, info.height)?.data).toBe(url)

    const link = new LinkClient(url, { link_id: `ulk_${url.split('_')[2]}` })
    expect((await link.rules()).body.data).toMatchObject({ max_files: 2, max_size_mb: 3, allowed_extensions: ['txt', 'pdf'] })
    expect((await link.put('a.txt', 'hello')).status).toBe(201)
    await button(page, 'I have copied the URL').click()
    await page.getByRole('cell', { name: '1 of 2' }).waitFor()
    expect(await page.content()).not.toContain(url)

    await button(page, 'Revoke').click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('cell', { name: 'revoked', exact: true }).waitFor()
    expect((await link.rules()).status).toBe(404)
    await page.getByLabel('Status').selectOption('active')
    await page.getByText('No results').first().waitFor()
  })

  test("shows only a user's own upload links if the user has only the upload scope", async () => {
    await tenant.admin.post('/upload-links', { context: 'notes' })
    const page = await dashboard.openSignedIn(tenant, { scopes: ['upload'], at: '/links' })
    await page.getByText('No upload links yet').waitFor()
    const reader = await dashboard.openSignedIn(tenant, { scopes: ['metadata'], at: '/' })
    expect(await reader.getByRole('link', { name: 'Upload links' }).count()).toBe(0)
  })
})
