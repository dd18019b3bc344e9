import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { png } from '../../packages/formats/test/support/samples/basic.js'
import { Dashboard, selectFiles } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { createQuarantinedFile } from '../support/quarantined-file.js'
import { type TestTenant, World } from '../support/world.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Path of each page, with a selector that matches when the page is complete. */
const views = [
  ['/', '.plot-bars a'],
  ['/files', 'td'],
  ['/files/FILE', '.preview-frame img'],
  ['/files/INFECTED', '.quarantine-notice'],
  ['/try', '.drop'],
  ['/contexts', 'td'],
  ['/contexts/notes', 'form'],
  ['/contexts/new-context', 'form'],
  ['/keys', 'td'],
  ['/links', 'td'],
  ['/calls', 'td'],
  ['/audit', 'td'],
  ['/quarantine', 'td'],
  ['/webhooks', 'td'],
  ['/webhooks/HOOK', '.facts'],
  ['/users', 'td'],
  ['/health', '.badge'],
  ['/proof', 'td'],
  ['/nothing', '.empty'],
  ['/account', 'td'],
] as const

describeWith('chromium')('dashboard accessibility and layout', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant
  let fileId: string
  let infectedId: string
  let webhookId: string

  beforeAll(async () => {
    world = await World.open({ WEBHOOK_ALLOW_PRIVATE: 'true' })
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes', { display_name: 'Notes' })
    fileId = (await tenant.admin.upload('notes', 'a-picture-with-a-rather-long-name-that-nobody-would-type.png', png(40, 40)))
      .body.data.file_id
    await tenant.admin.upload('notes', 'refused.exe', 'MZ')
    infectedId = await createQuarantinedFile(world, tenant, 'notes')
    await tenant.admin.post('/upload-links', { context: 'notes', origins: ['https://example.com'] })
    webhookId = (await tenant.admin.post('/webhooks', { url: 'http://127.0.0.1:9/hook' })).body.data.webhook_id
    await tenant.admin.post(`/webhooks/${webhookId}/test`)
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const show = async (page: Page, [path, complete]: (typeof views)[number]) => {
    await page.goto(path.replace('FILE', fileId).replace('INFECTED', infectedId).replace('HOOK', webhookId))
    await page.locator(`main ${complete}`).first().waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
  }

  // Color rules are selected by name because axe's color tag also contains AAA rules.
  const colourRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

  /** Returns the serious and critical accessibility violations on a page. */
  async function barriers(page: Page, of: 'all' | 'colours' = 'all'): Promise<string[]> {
    await page.evaluate(axe)
    const options = { resultTypes: ['violations'], ...(of === 'colours' && { runOnly: colourRules }) }
    const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`)
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
  }

  describe.each(['light', 'dark'] as const)('dashboard accessibility in the %s theme', (colorScheme) => {
    // The dark theme differs only in its colors, so only colors are tested.
    const of = colorScheme === 'light' ? 'all' : 'colours'
    // Animations are disabled because elements do not have their final colors during an animation.
    const look = { colorScheme, reducedMotion: 'reduce' } as const

    test('finds no serious accessibility violations on dashboard pages', async () => {
      const page = await dashboard.openSignedIn(tenant, look)
      for (const view of views) {
        await show(page, view)
        expect([view[0], await barriers(page, of)]).toEqual([view[0], []])
      }
    })

    test('finds no serious accessibility violations in forms, dialogs, menus and the upload list', async () => {
      const visitor = await (await dashboard.newBrowserContext(look)).newPage()
      await visitor.goto('/')
      await visitor.getByLabel('Password').waitFor()
      expect(await barriers(visitor, of)).toEqual([])
      const page = await dashboard.openSignedIn(tenant, { ...look, at: '/keys' })
      await page.getByRole('button', { name: 'Actions for Admin' }).click()
      expect(await barriers(page, of)).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'New API key' }).click()
      expect(await barriers(page, of)).toEqual([])
      await page.goto('/files')
      await selectFiles(page, { name: 'fine.txt', content: 'fine' }, { name: 'bad.exe', content: 'MZ' })
      await page.locator('.upload.accepted').waitFor()
      await page.locator('.upload.rejected').waitFor()
      expect(await barriers(page, of)).toEqual([])
    })
  })

  test('fits all dashboard pages into a viewport 390 px wide', async () => {
    const page = await dashboard.openSignedIn(tenant, { viewport: { width: 390, height: 844 } })
    for (const view of views) {
      await show(page, view)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      expect([view[0], width]).toEqual([view[0], 390])
    }
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Files' }).waitFor()
    await page.getByRole('link', { name: 'Contexts', exact: true }).waitFor({ state: 'hidden' })
  })

  test('supports sign-in, search and deletion of a file with only the keyboard', async () => {
    const { body } = await tenant.admin.upload('notes', 'by-keyboard.txt', 'text')
    const user = await dashboard.createUser(tenant, ['admin'])
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto('/')
    await page.getByLabel('Email').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type(user.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(user.password)
    await page.keyboard.press('Enter')
    await page.locator('.tile').first().waitFor()
    // The overview has no search field, so the slash key opens the palette.
    await page.keyboard.press('/')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await page.keyboard.type('by-key')
    await page.getByRole('option', { name: 'Search files for “by-key”' }).waitFor()
    await page.getByRole('option', { name: 'by-keyboard.txt' }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    const link = page.getByRole('link', { name: 'by-keyboard.txt' })
    await link.waitFor()
    const reach = async (name: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if ((await page.evaluate<string>('document.activeElement.textContent')) === name) return page.keyboard.press('Enter')
        await page.keyboard.press('Tab')
      }
      throw new Error(`${name} cannot be reached with Tab.`)
    }
    await reach('by-keyboard.txt')
    await page.getByRole('heading', { level: 1, name: 'by-keyboard.txt' }).waitFor()
    await reach('Delete')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await reach('Delete')
    await page.getByRole('dialog').waitFor()
    await reach('Delete')
    await page.getByRole('heading', { level: 1, name: 'Files' }).waitFor()
    expect((await tenant.admin.get(`/files/${body.data.file_id}/metadata`)).status).toBe(404)
  })

  test('preserves the selected dashboard theme after a reload', async () => {
    const page = await dashboard.openSignedIn(tenant, { colorScheme: 'light' })
    await page.getByLabel('Theme').selectOption('dark')
    await page.reload()
    await page.locator('.sidebar').waitFor()
    expect(await page.evaluate<string>('getComputedStyle(document.documentElement).colorScheme')).toBe('dark')
  })
})
