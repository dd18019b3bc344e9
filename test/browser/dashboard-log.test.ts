import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Page } from 'playwright-core'
import { checkReceipt, parseKeySet } from '../../packages/proofs/src/check-receipt.js'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { createKeySet, createSigningKey } from '../support/memory-log.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('receipts and transparency log in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
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

  test('downloads a receipt in the dashboard and shows its log position', async () => {
    const fileId = (await tenant.admin.upload('notes', 'é.txt', 'text')).body.data.file_id
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${fileId}` })
    const { name, text } = await saved(page, 'Download receipt')
    expect([name, decodeJwt(text).sub]).toEqual(['é.txt.receipt.jws', fileId])
    await page.getByText(/^The verdict is entry \d+ of \d+ in the transparency log\.$/).waitFor()
  })

  test('downloads a checkpoint and shows a new auditor token only once', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    const { name, text } = await saved(page, 'Download checkpoint')
    expect(name).toMatch(/^checkpoint-\d+\.txt$/)
    expect(text.split('\n')[0]).toContain(tenant.tenantId)
    await button(page, 'Create auditor token').click()
    const token = (await dialog(page).locator('code').first().textContent())!
    expect((await world.createCaller(token).get('/log/checkpoint')).status).toBe(200)
    await button(page, 'I have copied the token').click()
    expect(await page.content()).not.toContain(token)
    await button(page, 'Revoke').click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No auditor tokens yet.').waitFor()
    expect((await world.createCaller(token).get('/log/checkpoint')).status).toBe(401)
  })

  const getReceipt = async (id: string) => (await tenant.admin.get(`/files/${id}/receipt`)).body.data.receipt as string
  const getKeys = async () => JSON.stringify((await world.unauthenticated.raw('/.well-known/jwks.json')).body)
  const upload = async (name: string, content: string) =>
    (await tenant.admin.upload('notes', name, content)).body.data.file_id as string
  /** Drops files onto the verification area, as if dragged from the operating system's file manager. */
  const drop = async (page: Page, ...files: { name: string; content: string }[]) => {
    const dataTransfer = await page.evaluateHandle((given) => {
      const browser = globalThis as unknown as {
        DataTransfer: new () => { items: { add(file: object): void } }
        File: new (parts: string[], name: string) => object
      }
      const transfer = new browser.DataTransfer()
      for (const { name, content } of given) transfer.items.add(new browser.File([content], name))
      return transfer
    }, files)
    await page.dispatchEvent('.verify-drop', 'drop', { dataTransfer })
  }
  const findings = async (page: Page) => {
    await page.getByText(/^(All checks passed|Some checks failed\. Do not rely on this receipt)\.$/).waitFor()
    return page.locator('.verify .report li:not(.skipped) p').allTextContents()
  }

  test('verifies a dropped receipt and its file while the browser is offline', async () => {
    const content = 'A report, as it was uploaded.'
    const receipt = await getReceipt(await upload('report.txt', content))
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    await page.getByText(`from ${world.url}`).waitFor()
    await page.context().setOffline(true)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await drop(page, { name: 'report.txt.receipt.jws', content: receipt }, { name: 'report.txt', content })
    await page.getByText('All checks passed.').waitFor()
    // The dashboard must report the same findings as `npm run verify`.
    const sha256 = createHash('sha256').update(content).digest('hex')
    const file = { name: 'report.txt', sizeBytes: content.length, sha256 }
    const expected = checkReceipt({ receipt, keys: parseKeySet(await getKeys()), file })
    expect(expected.every(({ proven }) => proven)).toBe(true)
    expect(await findings(page)).toEqual(expected.map(({ message }) => message))
    expect(requests.filter((url) => url.includes('jwks') || url.includes('receipt'))).toEqual([])
    // Drops another file with the same receipt.
    await drop(page, { name: 'report.txt', content: `${content}!` })
    await page.getByText(/^report\.txt is not the validated file: it has 30 bytes/).waitFor()
    await page.getByText('Some checks failed. Do not rely on this receipt.').waitFor()
  })

  test('rejects modified receipts with the same findings as the `verify` command', async () => {
    const receipt = await getReceipt(await upload('letter.txt', 'A letter.'))
    const [header, payload, signature] = receipt.split('.') as [string, string, string]
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const keys = await getKeys()
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    await page.getByText(`from ${world.url}`).waitFor()
    const changed = [
      `${header}.${encode({ ...claims, outcome: 'rejected' })}.${signature}`,
      `${header}.${payload}.${Buffer.from(signature, 'base64url').reverse().toString('base64url')}`,
      `${header}.${payload}.AAAA`,
      `${encode({ alg: 'none', typ: 'receipt+jws' })}.${payload}.${signature}`,
      `${encode({ alg: 'EdDSA', typ: 'receipt+jws', kid: 'unknown' })}.${payload}.${signature}`,
      `${encode({ ...decodeProtectedHeader(receipt), crit: ['exp'] })}.${payload}.${signature}`,
    ]
    for (const each of changed) {
      const [expected, ...more] = checkReceipt({ receipt: each, keys: parseKeySet(keys) })
      expect([expected!.proven, more]).toEqual([false, []])
      await page.getByLabel('Or paste the receipt').fill(each)
      await page.locator('.verify .report').getByText(expected!.message, { exact: true }).waitFor()
      await page.getByText('Some checks failed. Do not rely on this receipt.').waitFor()
    }
  })

  test("verifies a receipt with a key set dropped onto the page instead of the service's own keys", async () => {
    const receipt = await getReceipt(await upload('memo.txt', 'A memo.'))
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    await drop(page, { name: 'r.json', content: JSON.stringify({ data: { receipt } }) })
    await page.getByText('All checks passed.').waitFor()
    await page.getByText('No file was compared with the receipt.').waitFor()
    await drop(page, { name: 'other.json', content: createKeySet(createSigningKey('sig_other')) })
    await page.getByText('from other.json').waitFor()
    await page.getByText(/^The key set does not contain key/).waitFor()
    await drop(page, { name: 'jwks.json', content: await getKeys() })
    await page.getByText('All checks passed.').waitFor()
  })

  test('verifies a file of several megabytes by computing its checksum in chunks', async () => {
    const content = 'line of a large file\n'.repeat(150_000)
    const receipt = await getReceipt(await upload('large.txt', content))
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    await drop(page, { name: 'large.txt', content }, { name: 'r.jws', content: receipt })
    await page.getByText(/^large\.txt is the validated file: 3150000 bytes, SHA-256 [0-9a-f]{64}\.$/).waitFor()
  })

  test('lists the latest verdicts and downloads their receipts in the dashboard', async () => {
    const fileId = await upload('listed.txt', 'text')
    await tenant.admin.upload('notes', 'refused.exe', 'MZ')
    const page = await dashboard.openSignedIn(tenant, { at: '/proof' })
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    const save = async (name: string) => {
      const clicked = row(name).first().getByRole('button', { name: 'Download receipt' }).click()
      const [download] = await Promise.all([page.waitForEvent('download'), clicked])
      return decodeJwt(readFileSync(await download.path(), 'utf8'))
    }
    expect(await save('listed.txt')).toMatchObject({ sub: fileId, outcome: 'accepted' })
    expect(await save("Extension 'exe'")).toMatchObject({ filename: 'refused.exe', outcome: 'rejected' })
  })
})
