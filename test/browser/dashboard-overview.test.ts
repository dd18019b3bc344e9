import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { png } from '../../packages/formats/test/support/samples/basic.js'
import { Dashboard, selectFiles } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { World } from '../support/world.js'

const run = promisify(execFile)

describeWith('chromium')('overview and first steps in the dashboard', () => {
  let world: World
  let dashboard: Dashboard

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const chart = (page: Page, title: string) =>
    page.locator('figure.chart', { has: page.getByRole('heading', { name: title, exact: true }) })
  const step = (page: Page, title: string) =>
    page.locator('.first-steps li', { has: page.getByRole('heading', { name: new RegExp(`^${title}`) }) })

  test('links each current count in the overview to the corresponding list', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('box')
    const page = await dashboard.openSignedIn(tenant)
    await page.locator('.tile').first().waitFor()
    await tenant.admin.upload('box', 'a.txt', 'some text')
    await tenant.admin.upload('box', 'b.exe', 'MZ')
    const tile = (name: string) => page.locator('.tile', { has: page.getByRole('heading', { name, exact: true }) })
    // The upload counts towards the previous day if midnight passes during the test.
    await page.getByText(/^(1 today, 0|0 today, 1) yesterday$/).waitFor()
    const values = ['Files', 'Storage', 'Blocked files'].map((name) => tile(name).locator('.value').textContent())
    expect(await Promise.all(values)).toEqual(['1', '9 B', '1'])
    // Without uploads and calls on the previous day, the page shows no percentage.
    expect(await page.locator('.tiles').textContent()).not.toContain('%')
    await tile('Blocked files').click()
    await heading(page, 'Calls').waitFor()
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
  })

  test('shows chart bars that add up to the total and link to the filtered list', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('box')
    for (const name of ['a.txt', 'b.txt']) await tenant.admin.upload('box', name, 'some text')
    await tenant.admin.upload('box', 'c.exe', 'MZ')
    const page = await dashboard.openSignedIn(tenant)
    const bars = async (title: string) => {
      const labels = await chart(page, title).locator('.plot-bars a').allTextContents()
      return labels.map((label) => [label.replace(/^.*?, (\w+): .*$/, '$1'), label.replace(/^.*: /, '')])
    }
    await chart(page, 'Calls').waitFor()
    const sum = async (title: string) =>
      (await bars(title)).reduce((all, [, value]) => all + Number(value!.replaceAll(',', '')), 0)
    const total = async (title: string) => Number(await chart(page, title).locator('figcaption strong').textContent())
    expect([await sum('Calls'), await sum('Uploads')]).toEqual([await total('Calls'), 2])
    expect(new Set((await bars('Calls')).map(([series]) => series))).toEqual(new Set(['Succeeded', 'Failed']))
    // Bar heights must have the same ratio as their values.
    const height = (name: RegExp) =>
      chart(page, 'Calls')
        .getByRole('link', { name })
        .evaluateAll((links) => links.reduce((all, link) => all + (link as unknown as { clientHeight: number }).clientHeight, 0))
    const [succeeded, failed] = [await height(/Succeeded/), await height(/Failed/)]
    expect(succeeded / failed).toBeCloseTo(((await sum('Calls')) - 1) / 1, 0)
    // The legend omits empty series and shows a value for each entry.
    expect(await chart(page, 'Uploads').locator('.legend li').first().textContent()).toMatch(/Files 2$/)
    // All charts share one time axis that starts with the first data.
    const axes = await page
      .locator('figure.chart')
      .evaluateAll((all) =>
        all.map(
          (each) => (each as unknown as { querySelector(s: string): { textContent: string } }).querySelector('.tick').textContent,
        ),
      )
    expect(new Set(axes).size).toBe(1)
    expect(await chart(page, 'Calls').locator('.slot').count()).toBeLessThanOrEqual(2)
    await chart(page, 'Calls')
      .getByRole('link', { name: /Failed: 1$/ })
      .click()
    await heading(page, 'Calls').waitFor()
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    expect(new URL(page.url()).searchParams.get('status')).toBe('failure')
    await page.goBack()
    await button(page, 'Hours').click()
    await chart(page, 'Storage').waitFor({ state: 'detached' })
    await chart(page, 'Uploads').getByRole('link').last().click()
    await heading(page, 'Files').waitFor()
    await page.locator('.pager', { hasText: '2 of 2' }).waitFor()
  })

  test('lets the user reach all bars of a chart with the arrow keys', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('box')
    await tenant.admin.upload('box', 'a.txt', 'some text')
    await tenant.admin.upload('box', 'c.exe', 'MZ')
    const page = await dashboard.openSignedIn(tenant)
    const links = chart(page, 'Calls').getByRole('link')
    await links.first().waitFor()
    await chart(page, 'Calls').locator('a[tabindex="0"]').focus()
    const count = await links.count()
    for (let presses = 0; presses < count; presses++) await page.keyboard.press('ArrowLeft')
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe(await links.first().textContent())
    await page.keyboard.press('Enter')
    await heading(page, 'Calls').waitFor()
  })

  test('guides a new tenant from a context preset to a first API call', async () => {
    const tenant = await world.createTenant()
    const page = await dashboard.openSignedIn(tenant)
    // A new tenant has only the unused key from its first start.
    await page.getByText('0 of 4 done').waitFor()
    await step(page, 'Create a context').getByRole('link', { name: 'Images' }).click()
    await heading(page, 'New context').waitFor()
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe('images')
    await button(page, 'Documents').click()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Documents')
    expect(await page.getByLabel('Allowed extensions').inputValue()).toMatch(/^pdf, docx,/)
    await button(page, 'Images').click()
    await button(page, 'Create context').click()
    await heading(page, 'Files').waitFor()
    await selectFiles(page, { name: 'first.png', content: png(20, 20) })
    await page.locator('.upload.accepted').waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByText('2 of 4 done').waitFor()
    await button(page, 'Create API key').click()
    await button(page, 'Create key').click()
    const secret = (await page.getByRole('dialog').locator('code').first().textContent())!
    await button(page, 'I have copied the key').click()
    await page.getByText('3 of 4 done').waitFor()
    const folder = mkdtempSync(join(tmpdir(), 'assay-first-call-'))
    try {
      writeFileSync(join(folder, 'example.png'), png(30, 30))
      const code = async (tab: string) => {
        await page.getByRole('tab', { name: tab }).click()
        const text = (await page.getByRole('tabpanel').textContent())!
        expect(text).toContain(secret)
        return text
      }
      const [curl, javascript, python] = [await code('curl'), await code('JavaScript'), await code('Python')]
      writeFileSync(join(folder, 'upload.mjs'), javascript)
      writeFileSync(join(folder, 'upload.py'), python)
      const options = { cwd: folder, env: { PATH: process.env.PATH } }
      expect((await run('bash', ['-c', curl], options)).stdout).toContain('"file_id"')
      expect((await run(process.execPath, ['upload.mjs'], options)).stdout).toMatch(/^201 [\s\S]*file_id/)
      await run('python3', ['-m', 'py_compile', 'upload.py'], options)
      const hasRequests = await run('python3', ['-c', 'import requests']).then(
        () => true,
        () => false,
      )
      if (hasRequests) expect((await run('python3', ['upload.py'], options)).stdout).toMatch(/^201 .*file_id/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    await page.getByText('4 of 4 done').waitFor()
    // The page does not show the secret again after a reload.
    await page.reload()
    await page.locator('.tile').first().waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage])')).not.toContain(secret)
  })

  test('creates a context from each context preset in the dashboard', async () => {
    const tenant = await world.createTenant()
    const page = await dashboard.openSignedIn(tenant)
    for (const preset of ['images', 'documents', 'data', 'any']) {
      await page.goto(`/contexts/new-context?preset=${preset}`)
      await button(page, 'Create context').click()
      await heading(page, 'Files').waitFor()
      expect((await tenant.admin.get(`/contexts/${preset}`)).status).toBe(200)
    }
  })

  test('hides the first-steps guide permanently after the user clicks “Hide”', async () => {
    const tenant = await world.createTenant()
    const page = await dashboard.openSignedIn(tenant)
    await button(page, 'Hide').click()
    await page.locator('.first-steps').waitFor({ state: 'detached' })
    await page.reload()
    await page.locator('.tile').first().waitFor()
    expect(await page.locator('.first-steps').count()).toBe(0)
  })
})
