import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { newlyInfected, rescanAll, UpdatableClamd } from '../support/updatable-clamd.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('quarantine and rescan in the dashboard', () => {
  let clamd: UpdatableClamd
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    clamd = await UpdatableClamd.start()
    world = await World.open({ SCANNER_URL: clamd.url })
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    for (const name of ['one.txt', 'two.txt']) await tenant.admin.upload('notes', name, `${name}, and ${newlyInfected}`)
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
    await clamd.daemon.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('rescans a context in the dashboard and lists infected files', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/contexts/notes' })
    await page.getByRole('heading', { name: 'Rescan' }).waitFor()
    await page.getByText('not started').waitFor()
    clamd.startDetecting()
    await button(page, 'Start rescan').click()
    await page.getByText('running').waitFor()
    expect(await button(page, 'Start rescan').isDisabled()).toBe(true)
    await rescanAll(world)
    await page.getByText('finished', { exact: true }).waitFor()
    await page.getByText('2 of 2').waitFor()
    await page.getByRole('link', { name: '2', exact: true }).click()
    await row(page, 'one.txt').getByText('Test.Tomorrow').waitFor()
    await row(page, 'two.txt').waitFor()
    // The infected file's page also names the virus.
    await page.goto('/files?search=one.txt')
    await row(page, 'one.txt').getByText('Quarantined').waitFor()
    await page.getByRole('link', { name: 'one.txt' }).click()
    await page.locator('.quarantine-notice', { hasText: 'Test.Tomorrow' }).waitFor()
  })

  test('releases and permanently deletes quarantined files in the dashboard', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/quarantine' })
    await row(page, 'one.txt').getByRole('button', { name: 'Release' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Release' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Reason').fill('Known to us.')
    await dialog.getByRole('button', { name: 'Release' }).click()
    await row(page, 'one.txt').waitFor({ state: 'detached' })
    await row(page, 'two.txt').getByRole('button', { name: 'Delete permanently' }).click()
    await dialog.getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('No quarantined files').waitFor()
    const files = (await tenant.admin.get('/files?context=notes')).body.data.data
    expect(files.map(({ original_filename }: { original_filename: string }) => original_filename)).toEqual(['one.txt'])
    const [audit] = (await tenant.admin.get(`/audit-logs?entity_id=${files[0].file_id}`)).body.data.data
    expect(audit.details).toEqual({ change: 'released', reason: 'Known to us.' })
  })
})
