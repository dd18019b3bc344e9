import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('dashboard navigation and command palette', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('invoices', { display_name: 'Incoming invoices' })
    await tenant.admin.upload('invoices', 'Quarterly-report.txt', 'text')
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const palette = (page: Page) => page.getByRole('dialog', { name: 'Search pages, actions, contexts and files' })
  const open = async (page: Page, text: string) => {
    await page.keyboard.press('Control+k')
    await palette(page).getByRole('combobox').fill(text)
  }

  test('groups dashboard pages under data, access, operations and proof', async () => {
    const page = await dashboard.openSignedIn(tenant)
    const groups = page.locator('nav[aria-label=Main] section')
    expect(await groups.locator('h2').allTextContents()).toEqual(['Data', 'Access', 'Operations', 'Proof'])
    expect(await groups.first().getByRole('link').allTextContents()).toEqual(['Files', 'Validate file', 'Contexts', 'Trash'])
    // A navigation group without permitted pages is omitted.
    const reader = await dashboard.openSignedIn(tenant, { scopes: ['upload'] })
    expect(await reader.locator('nav[aria-label=Main] section h2').allTextContents()).not.toContain('Proof')
  })

  test.each([
    ['a page', 'quaran', /^Quarantine$/, 'Quarantine'],
    ['a context by its name', 'incoming', /^Incoming invoices/, 'Incoming invoices'],
    ['a file by its name', 'quarterly', /^Quarterly-report.txt/, 'Quarterly-report.txt'],
    ['the file search', 'quarterly', /^Search files for “quarterly”$/, 'Files'],
    ['an action', 'new context', /^New context$/, 'New context'],
  ])('finds and opens %s with the command palette', async (_what, text, option, title) => {
    const page = await dashboard.openSignedIn(tenant)
    await open(page, text)
    await palette(page).getByRole('option', { name: option }).click()
    await palette(page).waitFor({ state: 'detached' })
    await heading(page, title).waitFor()
  })

  test('lets the user operate the command palette with only the keyboard', async () => {
    const page = await dashboard.openSignedIn(tenant)
    await open(page, 'quarterly')
    const file = palette(page).getByRole('option', { name: 'Quarterly-report.txt' })
    await file.waitFor()
    expect(await file.getAttribute('aria-selected')).toBe('true')
    const input = palette(page).getByRole('combobox')
    expect(await input.getAttribute('aria-activedescendant')).toBe(await file.getAttribute('id'))
    await page.keyboard.press('ArrowDown')
    expect(await file.getAttribute('aria-selected')).toBe('false')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await heading(page, 'Quarterly-report.txt').waitFor()
    await page.keyboard.press('Control+k')
    await palette(page).waitFor()
    await page.keyboard.press('Escape')
    await palette(page).waitFor({ state: 'detached' })
    await heading(page, 'Quarterly-report.txt').waitFor()
  })

  test('opens the page and dialog for an action that is chosen in the command palette', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/keys' })
    await heading(page, 'API keys').waitFor()
    await open(page, 'api key')
    await palette(page).getByRole('option', { name: 'New API key' }).click()
    await page.getByRole('dialog', { name: 'New API key' }).waitFor()
    expect(new URL(page.url()).search).toBe('?new=1')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('')
  })

  test("offers only command palette entries that the user's scopes allow", async () => {
    const page = await dashboard.openSignedIn(tenant, { scopes: ['upload'], at: '/contexts' })
    await heading(page, 'Contexts').waitFor()
    await open(page, '')
    await palette(page).getByRole('option', { name: 'Upload files' }).waitFor()
    for (const name of ['API keys', 'New API key', 'Users', 'Calls'])
      expect(await palette(page).getByRole('option', { name, exact: true }).count()).toBe(0)
    await palette(page).getByRole('combobox').fill('quarterly')
    await palette(page).getByText('No results.').waitFor()
  })

  test('does not open the command palette while a modal dialog is open', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/keys?new=1' })
    await page.getByRole('dialog', { name: 'New API key' }).waitFor()
    await page.keyboard.press('Control+k')
    expect(await page.getByRole('dialog').count()).toBe(1)
  })

  test("opens an item's details when the user clicks its list row", async () => {
    const key = await tenant.createKey(['metadata'], { name: 'Reader' })
    const page = await dashboard.openSignedIn(tenant, { at: '/keys' })
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await row('Reader').getByText('Metadata').click()
    const details = page.getByRole('dialog', { name: 'Reader' })
    await details.getByText(key.id).waitFor()
    // A click outside the panel closes it, and a click on a control in the row does not open it.
    await page.mouse.click(40, 400)
    await details.waitFor({ state: 'detached' })
    await row('Reader').getByRole('button', { name: 'Actions for Reader' }).click()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.goto('/contexts')
    await row('Incoming invoices').getByText('active').click()
    await heading(page, 'Incoming invoices').waitFor()
  })

  test('filters calls by a date preset and by key name', async () => {
    const key = await tenant.createKey(['upload', 'metadata'], { name: 'Uploader of today' })
    await key.upload('invoices', 'today.txt', 'text')
    const page = await dashboard.openSignedIn(tenant, { at: '/calls' })
    await page.getByLabel('API key', { exact: true }).selectOption('Uploader of today')
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    await page.getByRole('row').filter({ hasText: 'Incoming invoices' }).waitFor()
    await page.getByLabel('Date range').selectOption('Last 7 days')
    const from = new URL(page.url()).searchParams.get('from')!
    // Seven days are accepted because midnight may pass between the click and this line.
    expect([6, 7]).toContain(Math.floor((Date.now() - Date.parse(from)) / 86_400_000))
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    await page.reload()
    await page.getByLabel('Date range').waitFor()
    expect(await page.getByLabel('Date range').inputValue()).toBe('week')
    await page.getByLabel('Date range').selectOption('Custom')
    await page.getByLabel('Start date').fill('2020-01-01')
    await page.getByLabel('End date').fill('2020-01-02')
    await page.getByText('No results').waitFor()
    await page.getByLabel('Date range').selectOption('Any time')
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    expect(new URL(page.url()).search).toBe(`?key=${key.id}`)
  })
})
