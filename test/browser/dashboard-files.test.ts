import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { png, wav } from '../../packages/formats/test/support/samples/basic.js'
import { createPdf, protectedPdf } from '../../packages/formats/test/support/samples/pdf.js'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { createQuarantinedFile, holdFile } from '../support/quarantined-file.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('files in the dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant
  const ids: Record<string, string> = {}

  const twoPages = () =>
    createPdf([
      [1, '<< /Type /Catalog /Pages 2 0 R >>'],
      [2, '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>'],
      [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] >>'],
      [4, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 200] >>'],
    ])

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('mixed', {
      display_name: 'Mixed files',
      allowed_extensions: ['txt', 'csv', 'png', 'pdf', 'wav', 'svg', 'gz'],
      scan_for_viruses: false,
    })
    const files: [string, Buffer | string][] = [
      ['picture.png', png(300, 200)],
      ['paper.pdf', twoPages()],
      ['locked.pdf', protectedPdf()],
      ['poem.txt', 'Shall I compare thee'],
      ['table.csv', 'name;amount\n"Doe; Jane";12\nBob;7\n'],
      ['beep.wav', wav(8000)],
      ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg"><text>hello</text></svg>'],
    ]
    for (const [name, content] of files) ids[name] = (await tenant.admin.upload('mixed', name, content)).body.data.file_id
    await holdFile(world, tenant, ids['poem.txt']!)
    ids['infected.txt'] = await createQuarantinedFile(world, tenant, 'mixed')
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const names = (page: Page) => page.locator('td.wide a').allTextContents()
  const naturalSize = (page: Page, image: string) =>
    page
      .locator(image)
      .first()
      .evaluate(async (element) => {
        const picture = element as unknown as { decode(): Promise<void>; naturalWidth: number; naturalHeight: number }
        await picture.decode()
        return [picture.naturalWidth, picture.naturalHeight]
      })
  const collectRequests = (page: Page) => {
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    return requests
  }

  test('shows thumbnails for images and PDFs, and icons for other file types', async () => {
    const page = await dashboard.openSignedIn(tenant)
    const requests = collectRequests(page)
    await page.goto('/files')
    await row(page, 'picture.png').locator('.thumbnail img').waitFor()
    await row(page, 'paper.pdf').locator('.thumbnail img').waitFor()
    expect(await naturalSize(page, 'tr:has-text("picture.png") .thumbnail img')).toEqual([96, 64])
    for (const name of ['poem.txt', 'table.csv', 'beep.wav', 'infected.txt'])
      expect([name, await row(page, name).locator('.thumbnail svg').count()]).toEqual([name, 1])
    expect(await row(page, 'picture.png').locator('.badge').textContent()).toBe('Available')
    expect(await row(page, 'poem.txt').locator('.badge').textContent()).toBe('On hold')
    expect(await row(page, 'infected.txt').locator('.badge').textContent()).toBe('Quarantined')
    expect(await row(page, 'poem.txt').textContent()).toContain('Mixed files')
    expect(await row(page, 'poem.txt').textContent()).not.toMatch(/(file|key|usr|ctx)_[0-9a-z]{26}/)
    expect(requests).not.toContain(`/api/v1/files/${ids['infected.txt']}/preview`)
    expect(requests.filter((path) => path.startsWith('/download/'))).toEqual([])
  })

  test('searches the file list by part of a name, by ID and by checksum', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    const search = page.locator('main').getByLabel('Search', { exact: true })
    const { checksum } = (await tenant.admin.get(`/files/${ids['poem.txt']}/metadata`)).body.data
    for (const [text, name] of [
      ['ICTUR', 'picture.png'],
      [ids['table.csv']!, 'table.csv'],
      [checksum, 'poem.txt'],
    ]) {
      await search.fill(text!)
      await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
      await row(page, name!).waitFor()
      expect(await names(page)).toEqual([name])
    }
    await search.fill('no such file')
    await page.getByText('No matching files').waitFor()
  })

  test('sorts the file list and shows the order when the user clicks a column header', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    const header = page.getByRole('columnheader', { name: 'Name' })
    expect(await page.getByRole('columnheader', { name: 'Uploaded', exact: true }).getAttribute('aria-sort')).toBe('descending')
    await header.getByRole('button').click()
    await page.locator('tbody tr:first-child', { hasText: 'beep.wav' }).waitFor()
    expect(await header.getAttribute('aria-sort')).toBe('ascending')
    expect(new URL(page.url()).search).toBe('?sort=original_filename.asc')
    await header.getByRole('button').press('Enter')
    await page.locator('tbody tr:first-child', { hasText: 'table.csv' }).waitFor()
    expect(await header.getAttribute('aria-sort')).toBe('descending')
  })

  test('selects and deselects all files on a page with one checkbox', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files?search=.pdf' })
    await row(page, 'paper.pdf').waitFor()
    await page.getByLabel('Select paper.pdf').check()
    const all = page.getByLabel('Select all files on this page')
    expect(await all.evaluate((box) => Reflect.get(box, 'indeterminate'))).toBe(true)
    await all.check()
    await page.getByText('2 selected').waitFor()
    await all.uncheck()
    await page.getByText('2 selected').waitFor({ state: 'detached' })
  })

  /** Drags a file over an element and drops it as if it came from the desktop. */
  const drop = async (page: Page, selector: string, name: string, onDrag: () => Promise<unknown> = async () => {}) => {
    const transfer = await page.evaluateHandle(
      `(() => { const transfer = new DataTransfer(); transfer.items.add(new File(['dropped'], '${name}')); return transfer })()`,
    )
    const send = (type: string) =>
      page.locator(selector).first().dispatchEvent(type, { dataTransfer: transfer, cancelable: true })
    await send('dragover')
    await onDrag()
    await send('drop')
  }

  test('uploads files that are dropped anywhere in the window', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    await page.locator('.drop').waitFor()
    await drop(page, '.sidebar', 'dropped.txt', () =>
      page.locator('.drop-overlay', { hasText: 'Drop files to upload them to Mixed files' }).waitFor(),
    )
    await page.locator('.upload.accepted', { hasText: 'dropped.txt' }).waitFor()
    expect(await page.locator('.drop-overlay').count()).toBe(0)
    // A page without an upload area ignores a dropped file. The browser would otherwise open it.
    await page.getByRole('link', { name: 'API keys' }).click()
    await heading(page, 'API keys').waitFor()
    const isPrevented = await page.evaluate(`(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['x'], 'x.txt'))
      return ['dragover', 'drop'].map((type) => !document.body.dispatchEvent(new DragEvent(type, { dataTransfer, cancelable: true, bubbles: true })))
    })()`)
    expect(isPrevented).toEqual([true, true])
    expect(new URL(page.url()).pathname).toBe('/keys')
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await page.locator('.upload.accepted', { hasText: 'dropped.txt' }).waitFor()
    expect(await page.locator('.upload').count()).toBe(1)
  })

  test('asks users for confirmation only if they leave the page during an upload', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    await page.locator('.drop').waitFor()
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/api/v1/files/upload', async (route) => {
      await isReleased
      await route.continue()
    })
    const questions: string[] = []
    page.on('dialog', async (dialog) => {
      questions.push(dialog.type())
      await dialog.dismiss()
    })
    // Browsers show the confirmation only after the user has interacted with the page.
    await page.locator('h1').click()
    await drop(page, '.sidebar', 'slow.txt')
    await page.locator('.upload', { hasText: 'slow.txt' }).waitFor()
    const dialogShown = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    await dialogShown
    expect(questions).toEqual(['beforeunload'])
    release()
    await page.locator('.upload.accepted', { hasText: 'slow.txt' }).waitFor()
    await Promise.all([page.waitForEvent('close'), page.close({ runBeforeUnload: true })])
    expect(questions).toEqual(['beforeunload'])
  })

  test('explains why a quarantined file is blocked and links to the Quarantine page', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${ids['infected.txt']}` })
    const requests = collectRequests(page)
    await heading(page, 'infected.txt').waitFor()
    const notice = page.locator('.quarantine-notice')
    expect(await notice.textContent()).toContain('This file is quarantined')
    expect(await page.locator('.facts .badge').textContent()).toBe('Quarantined')
    for (const name of ['Download', 'Copy download link', 'Delete', 'Place hold'])
      expect([name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0])
    expect(await page.getByRole('heading', { name: 'Preview' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Download receipt' }).waitFor()
    expect(requests.filter((path) => /preview|download/.test(path))).toEqual([])
    await notice.getByRole('link', { name: 'Open Quarantine' }).click()
    await heading(page, 'Quarantine').waitFor()
    const reader = await dashboard.openSignedIn(tenant, { at: `/files/${ids['infected.txt']}`, scopes: ['metadata', 'download'] })
    await reader.getByText('Ask an administrator').waitFor()
    expect(await reader.getByRole('link', { name: 'Open Quarantine' }).count()).toBe(0)
  })

  test('previews an image and each page of a PDF without loading the original file', async () => {
    const page = await dashboard.openSignedIn(tenant)
    const requests = collectRequests(page)
    await page.goto(`/files/${ids['picture.png']}`)
    await page.getByAltText('Preview of picture.png', { exact: true }).waitFor()
    expect(await naturalSize(page, '.preview-frame img')).toEqual([300, 200])
    await page.goto(`/files/${ids['paper.pdf']}`)
    await page.getByText('Page 1 of 2').waitFor()
    expect(await naturalSize(page, '.preview-frame img')).toEqual([1280, 640])
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Page 2 of 2').waitFor()
    await page.getByAltText('Preview of paper.pdf, page 2').waitFor()
    expect(await naturalSize(page, '.preview-frame img')).toEqual([640, 1280])
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)
    await page.goto(`/files/${ids['locked.pdf']}`)
    await page.getByText('the PDF requires a password').waitFor()
    expect(requests.filter((path) => path.startsWith('/download/'))).toEqual([])
    const { body } = await tenant.admin.get(`/files/${ids['paper.pdf']}/metadata`)
    expect(body.data.download_count).toBe(0)
  })

  test('previews text as text, CSV as a table and SVG as source code', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${ids['poem.txt']}` })
    expect(await page.locator('pre.preview').textContent()).toBe('Shall I compare thee')
    await page.goto(`/files/${ids['table.csv']}`)
    const table = page.locator('.preview-table')
    await table.locator('td').first().waitFor()
    expect(await table.locator('th').allTextContents()).toEqual(['name', 'amount'])
    expect(await table.locator('td').allTextContents()).toEqual(['Doe; Jane', '12', 'Bob', '7'])
    await page.goto(`/files/${ids['drawing.svg']}`)
    expect(await page.locator('pre.preview').textContent()).toContain('<text>hello</text>')
    expect(await page.locator('.preview-card img').count()).toBe(0)
  })

  test('plays audio from a download URL in a sandboxed frame that cannot run scripts', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${ids['beep.wav']}` })
    await page.getByText('counts as a download').waitFor()
    await page.getByRole('button', { name: 'Play' }).click()
    const frame = page.locator('iframe.player')
    expect(await frame.getAttribute('sandbox')).toBe('allow-same-origin')
    const audio = page.frameLocator('iframe.player').locator('audio')
    const duration = await audio.evaluate((element) => {
      const media = element as unknown as { readyState: number; duration: number; onloadedmetadata: () => void }
      return new Promise((resolve) => {
        media.onloadedmetadata = () => resolve(media.duration)
        if (media.readyState >= 1) resolve(media.duration)
      })
    })
    expect(duration).toBe(1)
    const source = String(await audio.evaluate((element) => Reflect.get(element, 'src')))
    const response = await fetch(source)
    expect([new URL(source).pathname, response.headers.get('x-content-type-options')]).toEqual([
      `/download/${ids['beep.wav']}`,
      'nosniff',
    ])
    expect((await tenant.admin.get(`/files/${ids['beep.wav']}/metadata`)).body.data.download_count).toBe(1)
  })

  test("downloads a file's receipt from its dashboard page", async () => {
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${ids['poem.txt']}` })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download receipt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('poem.txt.receipt.jws')
  })

  test('fits the file list and previews into a viewport 320 px wide', async () => {
    const page = await dashboard.openSignedIn(tenant, { viewport: { width: 320, height: 640 } })
    for (const [path, complete] of [
      ['/files', '.thumbnail img'],
      [`/files/${ids['paper.pdf']}`, '.preview-frame img'],
      [`/files/${ids['table.csv']}`, '.preview-table'],
      [`/files/${ids['beep.wav']}`, '.preview-card .row'],
      [`/files/${ids['infected.txt']}`, '.quarantine-notice'],
    ]) {
      await page.goto(path!)
      await page.locator(complete!).first().waitFor()
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 320])
    }
    await page.goto('/files')
    await page.getByLabel('Select all files on this page').check()
    await page.getByLabel('Sort by').selectOption('Name')
    await page.locator('tbody tr:first-child', { hasText: 'beep.wav' }).waitFor()
  })
})
