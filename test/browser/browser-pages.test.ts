import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { getItems } from '../support/answers.js'
import { openBrowser, toPage } from '../support/browser.js'
import { describeWith } from '../support/real-parts.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('GraphQL and API pages in a browser', () => {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.tenant()
    await tenant.context('notes')
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await world.close()
  })

  /** Waits until the result field contains the text. */
  const result = async (page: Page, text: string) => {
    // Playwright's wait functions evaluate code in the page, which its content security policy forbids.
    while (!(await page.inputValue('#result')).includes(text)) await sleep(20)
  }

  test('the page /graphql generates a document for a field and runs it', async () => {
    await tenant.admin.upload('notes', 'shown.txt', 'text')
    const { page, strays, complaints } = await toPage(browser, world.url)
    // Hold the response with the list of fields until the search text was typed.
    let typed = () => {}
    const isTyped = new Promise<void>((resolve) => {
      typed = resolve
    })
    await page.route(
      (url) => url.pathname === '/graphql',
      async (route) => {
        if (route.request().method() === 'POST') await isTyped
        await route.continue()
      },
    )
    await page.goto(`${world.url}/graphql`)
    await page.fill('#credential', tenant.admin.credential!)
    await page.fill('#find', 'query files:')
    typed()
    await page.click('summary:visible')
    await page.click('details:visible button')
    expect(await page.inputValue('#query')).toMatch(/^query \{\n {2}files \{\n {4}data \{/)
    await page.press('#query', 'Control+Enter')
    await result(page, '{')
    const { data } = JSON.parse(await page.inputValue('#result'))
    expect(data.files.data).toEqual([expect.objectContaining({ originalFilename: 'shown.txt' })])
    expect([strays, complaints]).toEqual([[], []])
    expect(await page.getAttribute('a[href$="sandbox"]', 'href')).toBe('graphql?sandbox')
    await page.close()
  })

  test('the page /graphql shows errors of the service and reports invalid JSON variables', async () => {
    const { page } = await toPage(browser, world.url)
    await page.goto(`${world.url}/graphql`)
    await page.click('#run')
    await result(page, 'UNAUTHENTICATED')
    await page.fill('#variables', '{')
    await page.click('#run')
    await result(page, 'SyntaxError')
    await page.close()
  })

  test('the page /docs uploads a file with metadata from “Try it out”', async () => {
    const { page, strays } = await toPage(browser, world.url)
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
    expect(strays).toEqual([])
    await page.close()
  })
})
