import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openBrowser, openPage } from '../support/browser.js'
import { describeWith } from '../support/installed-programs.js'
import { getItems } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('API reference in a browser', () => {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  test('uploads a file with metadata through “Try it out” at /docs', async () => {
    const { page, foreignRequests } = await openPage(browser, world.url)
    await page.goto(`${world.url}/docs`)
    await page.click('button.authorize')
    await page.fill('.auth-container input', tenant.admin.credential!)
    await page.click('.auth-btn-wrapper button[type=submit]')
    await page.click('.auth-btn-wrapper .btn-done')
    const operation = page.locator('#operations-files-uploadFile')
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.try-out__btn').click()
    await operation
      .locator('input[type=file]')
      .setInputFiles({ name: 'tried.txt', mimeType: 'text/plain', buffer: Buffer.from('tried') })
    await operation.locator('tr[data-property-name=context] input, [data-property-name=context] input').first().fill('notes')
    await operation.locator('[data-property-name=metadata] textarea').first().fill('{"order": 4711}')
    const uploadResponse = page.waitForResponse((response) => response.url().endsWith('/files/upload'))
    await operation.locator('button.execute').click()
    expect((await uploadResponse).status()).toBe(201)
    const [file] = getItems(await tenant.admin.get('/files?name_prefix=tried'))
    const stored = await tenant.admin.get(`/files/${file.file_id}/metadata`)
    expect(stored.body.data.metadata).toEqual({ order: 4711 })
    expect(foreignRequests).toEqual([])
    await page.close()
  })
})
