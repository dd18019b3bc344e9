import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ulid } from 'ulid'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('file lifecycle in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open({ SCANNER_URL: 'none:' })
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('kept', { scan_for_viruses: false })
    await tenant.admin.patch('/contexts/kept/policy', { trash_days: 7 })
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const upload = async (name: string): Promise<string> => (await tenant.admin.upload('kept', name, name)).body.data.file_id

  test('restores a file from the trash or deletes it permanently in the dashboard', async () => {
    const [back, deleted] = [await upload('back.txt'), await upload('gone.txt')]
    await tenant.admin.post('/files/delete', { file_ids: [back, deleted] })
    const page = await dashboard.openSignedIn(tenant, { at: '/trash' })
    await row(page, 'back.txt').getByRole('button', { name: 'Restore' }).click()
    await row(page, 'back.txt').waitFor({ state: 'detached' })
    expect((await tenant.admin.get(`/files/${back}/metadata`)).status).toBe(200)
    await button(page, 'Delete gone.txt permanently').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('The trash is empty').waitFor()
    expect((await tenant.admin.get('/trash')).body.data.pagination.total_items).toBe(0)
  })

  test('does not allow the deletion of a file on hold in the dashboard', async () => {
    const id = await upload('held.txt')
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${id}` })
    await button(page, 'Place hold').click()
    await page.getByLabel('Reason').fill('Case 7')
    await page.getByRole('dialog').getByRole('button', { name: 'Place hold' }).click()
    await page.getByText('Case 7').waitFor()
    expect(await button(page, 'Delete').count()).toBe(0)
    expect((await tenant.admin.delete(`/files/${id}`)).status).toBe(409)
    await button(page, 'Release hold').click()
    await button(page, 'Delete').waitFor()
    expect((await tenant.admin.delete(`/files/${id}`)).status).toBe(200)
  })

  test('previews how a rule change would affect stored files', async () => {
    await tenant.createContext('ruled', { scan_for_viruses: false })
    await tenant.admin.upload('ruled', 'table.csv', 'a,b\n1,2\n')
    await tenant.admin.upload('ruled', 'text.txt', 'text')
    const page = await dashboard.openSignedIn(tenant, { at: '/contexts/ruled' })
    await page.getByLabel('Allowed extensions').fill('txt')
    await page.getByLabel('Reject active content').check()
    await page.getByText('Unsaved changes').waitFor()
    await button(page, 'Save changes').click()
    const effect = page.getByRole('dialog', { name: 'Effect on stored files' })
    await effect.getByText('1 of 2 stored files would be rejected.').waitFor()
    expect(await effect.locator('.effect-files li').textContent()).toContain('table.csv')
    await effect.getByRole('button', { name: 'Cancel' }).click()
    expect((await tenant.admin.get('/contexts/ruled')).body.data.allowed_extensions).toContain('csv')
    await button(page, 'Save changes').click()
    await effect.getByRole('button', { name: 'Save anyway' }).click()
    await page.getByText('Changes saved').waitFor()
    expect((await tenant.admin.get('/contexts/ruled/policy')).body.data.reject_active_content).toBe(true)
    await page.locator('.versions').getByText('Version 3').waitFor()
    expect(await page.locator('.versions li').nth(1).textContent()).toContain(
      'allowed extensions: txt, csv, json, png, pdf → txt',
    )
    // A name change does not affect files and is saved without a preview.
    await page.getByLabel('Name', { exact: true }).fill('Ruled files')
    await button(page, 'Save changes').click()
    await page.getByRole('heading', { level: 1, name: 'Ruled files' }).waitFor()
  })

  test("saves and clears a context's retention period in the dashboard", async () => {
    const { context_id } = await tenant.createContext('aging', { scan_for_viruses: false })
    const page = await dashboard.openSignedIn(tenant, { at: '/contexts/aging' })
    await page.getByLabel('Delete files after (days)').fill('30')
    await page.getByLabel('Keep deleted files for (days)').fill('7')
    await button(page, 'Save changes').click()
    await page.getByText('Changes saved').waitFor()
    expect((await tenant.admin.get('/contexts/aging/policy')).body.data).toMatchObject({ retention_days: 30, trash_days: 7 })
    // A stored file is older than the new retention period, so the effect is shown first.
    const uploadedAt = new Date(Date.now() - 20 * 86_400_000)
    await world.database.pool.query(
      `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
       VALUES ($1, $2, $3, 'old.txt', 'text/plain', 1, repeat('0', 64), 'old', 'system', $4, $4)`,
      [`file_${ulid(uploadedAt.getTime()).toLowerCase()}`, tenant.tenantId, context_id, uploadedAt],
    )
    await page.getByLabel('Delete files after (days)').fill('10')
    await button(page, 'Save changes').click()
    await page.getByRole('dialog').getByText('1 stored files are older than 10 days and will be deleted').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Delete files after (days)').fill('')
    await button(page, 'Save changes').click()
    await page.locator('.versions').getByText('Version 3').waitFor()
    expect((await tenant.admin.get('/contexts/aging/policy')).body.data).toMatchObject({ retention_days: null, trash_days: 7 })
  })

  test('hides the trash and holds from users who lack the required scope', async () => {
    const id = await upload('seen.txt')
    const page = await dashboard.openSignedIn(tenant, { scopes: ['metadata'], at: `/files/${id}` })
    await page.getByRole('heading', { level: 1, name: 'seen.txt' }).waitFor()
    expect(await page.getByRole('link', { name: 'Trash' }).count()).toBe(0)
    expect(await button(page, 'Place hold').count()).toBe(0)
  })
})
