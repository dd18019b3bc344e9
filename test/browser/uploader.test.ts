import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { AxeResults } from 'axe-core'
import type { Browser, Locator } from 'playwright-core'
import { BreakingProxy } from '../support/breaking-proxy.js'
import { openBrowser } from '../support/browser.js'
import { HostServer, Visitor } from '../support/customer-page.js'
import { eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { LinkClient } from '../support/link-client.js'
import { type TestTenant, World } from '../support/world.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describeWith('chromium')('<assay-uploader> on a page with another origin', () => {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  let host: HostServer
  let visitor: Visitor
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    await tenant.createContext('photos', {
      display_name: 'Photos of the damage',
      allowed_extensions: ['txt', 'png', 'jpg', 'bin'],
      max_file_size_mb: 20,
    })
    browser = await openBrowser()
    host = await HostServer.open()
  })
  afterAll(async () => {
    await browser?.close()
    host.close()
    await world.close()
  })
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) proxy.close()
    expect(visitor.problems).toEqual([])
    await visitor.close()
  })

  const proxies: BreakingProxy[] = []
  async function openProxy(): Promise<BreakingProxy> {
    const proxy = await BreakingProxy.open(world.url)
    proxies.push(proxy)
    return proxy
  }

  const link = (more: Record<string, unknown> = {}) => LinkClient.create(tenant.admin, 'photos', { max_files: 5, ...more })
  const linkOf = async ({ id }: LinkClient) => (await tenant.admin.get(`/upload-links/${id}`)).body.data

  /** Opens a customer page that embeds the web component. */
  async function open(
    { url }: { url: string },
    options: { page?: Parameters<HostServer['show']>[1]; browser?: Parameters<typeof Visitor.open>[1] } = {},
  ): Promise<void> {
    host.show(url, options.page)
    visitor = await Visitor.open(browser, options.browser)
    await visitor.page.goto(host.origin)
  }

  const sentBytes = () => visitor.requests.filter(({ method }) => ['POST', 'PATCH', 'PUT'].includes(method))

  async function download(fileId: unknown): Promise<Buffer> {
    const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
    return Buffer.from(await (await fetch(url)).arrayBuffer())
  }

  async function findViolations(): Promise<string[]> {
    await visitor.page.evaluate(axe)
    const { violations } = await visitor.page.evaluate<AxeResults>('axe.run()')
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }

  test('uploads several files with the upload widget and dispatches events to the page', async () => {
    const used = await link()
    await open(used)
    await visitor.page.getByText('Allowed types: txt, png, jpg, bin. Maximum file size: 20 MB.').waitFor()
    await visitor.page.getByText('Remaining files: 5.').waitFor()
    const large = Buffer.alloc(3_000_000, 'large ')
    await visitor.choose({ name: 'small.txt', content: 'hello' }, { name: 'large.txt', content: large })
    const { files } = (await visitor.event('complete')) as { files: { name: string; fileId: string }[] }
    expect(files.map(({ name }) => name)).toEqual(['small.txt', 'large.txt'])
    expect((await download(files[0]!.fileId)).toString()).toBe('hello')
    expect((await download(files[1]!.fileId)).equals(large)).toBe(true)
    for (const text of ['File type: .txt is allowed.', 'File size: 5 bytes (maximum 20 MB).', 'Content: checked and accepted.'])
      await visitor.file('small.txt').getByText(text).waitFor()
    await visitor.page.getByText('Remaining files: 3.').waitFor()
    expect(await linkOf(used)).toMatchObject({ accepted_files: 2, rejected_files: 0 })
    const types = (await visitor.events()).map(({ type }) => type)
    expect(types.filter((type) => type === 'accepted')).toHaveLength(2)
    expect(types[0]).toBe('ready')
    // Small files are uploaded in one request.
    expect(sentBytes().filter(({ method }) => method === 'POST')).toHaveLength(2)
  })

  test('checks files in the upload widget before sending any bytes', async () => {
    const used = await link({ max_files: 1, max_size_mb: 1 })
    await open(used)
    const rejections: [string, string | Buffer, string][] = [
      ['program.exe', 'x', 'File type: .exe is not allowed. Choose a file with one of these types: txt, png, jpg, bin.'],
      ['noname', 'x', 'File type: the file name has no extension.'],
      ['empty.txt', '', 'File size: the file is empty. Choose a different file.'],
      ['big.txt', Buffer.alloc(1_048_577, 'x'), 'exceeds the maximum of 1 MB. Choose a smaller file.'],
    ]
    for (const [name, content, text] of rejections) {
      await visitor.choose({ name, content })
      await visitor.file(name).getByText(text).waitFor()
    }
    expect((await visitor.events()).filter(({ type }) => type === 'rejected')).toHaveLength(4)
    expect(sentBytes()).toEqual([])
    expect(await linkOf(used)).toMatchObject({ rejected_files: 0 })
    await visitor.page.evaluate(
      `document.querySelector('assay-uploader').addFiles([new File(['a'], 'a.txt'), new File(['b'], 'b.txt')])`,
    )
    await visitor.file('b.txt').getByText('Number of files: this link accepts no more files.').waitFor()
    await visitor.event('accepted')
    await visitor.page.getByText('All files were uploaded.').locator('visible=true').first().waitFor()
    expect(await visitor.button('Choose files').isVisible()).toBe(false)
  })

  test('explains in the upload widget why the service rejected a file', async () => {
    await open(await link())
    await visitor.choose({ name: 'virus.txt', content: eicar }, { name: 'broken.png', content: 'no image' })
    await visitor.file('virus.txt').getByText('Content: the scanner found a virus. Do not open the file.').waitFor()
    await visitor
      .file('broken.png')
      .getByText('Choose another file.')
      .or(visitor.file('broken.png').getByText('damaged'))
      .first()
      .waitFor()
    const codes = (await visitor.events()).filter(({ type }) => type === 'rejected').map(({ detail }) => detail.code)
    expect(codes).toContain('virus_detected')
    expect(codes).toHaveLength(2)
    await visitor.button('Remove: virus.txt').click()
    await visitor.file('virus.txt').waitFor({ state: 'detached' })
  })

  test('accepts dropped and pasted files in the upload widget', async () => {
    await open(await link(), { page: { body: '<input id="field">' } })
    await visitor.event('ready')
    const send = (type: string, name: string, selector: string) =>
      visitor.page.evaluate(`{
        const uploader = document.querySelector('assay-uploader')
        const target = document.querySelector('${selector}') ?? uploader.shadowRoot.querySelector('${selector}')
        const data = new DataTransfer()
        data.items.add(new File(['hello'], '${name}'))
        const init = { bubbles: true, composed: true, cancelable: true, dataTransfer: data, clipboardData: data }
        target.dispatchEvent(new ${type === 'drop' ? 'DragEvent' : 'ClipboardEvent'}('${type}', init))
      }`)
    await send('drop', 'dropped.txt', '[part=dropzone]')
    await send('paste', 'field.txt', '#field')
    await send('paste', 'pasted.txt', 'h1')
    await visitor.event('accepted', 2)
    const names = (await visitor.events()).filter(({ type }) => type === 'accepted').map(({ detail }) => detail.name)
    expect(names.sort()).toEqual(['dropped.txt', 'pasted.txt'])
  })

  test("offers the phone's camera in the upload widget if the link accepts photos", async () => {
    const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } }
    await open(await link(), { browser: phone })
    await visitor.button('Take a photo').waitFor()
    const input = visitor.page.locator('[part=camera-input]')
    expect([await input.getAttribute('capture'), await input.getAttribute('accept')]).toEqual(['environment', 'image/*'])
    await visitor.close()
    await open(await link({ allowed_extensions: ['txt'] }), { browser: phone })
    await visitor.event('ready')
    expect(await visitor.button('Take a photo').count()).toBe(0)
    await visitor.close()
    await open(await link())
    await visitor.event('ready')
    expect(await visitor.button('Take a photo').count()).toBe(0)
  })

  test('pauses an upload in the upload widget and resumes it from the last received byte', async () => {
    const used = await link()
    const proxy = await openProxy()
    await open({ url: proxy.url + used.path })
    await visitor.event('ready')
    proxy.stallAfter(1_500_000)
    const content = Buffer.alloc(18_000_000, 'paused ')
    await visitor.choose({ name: 'paused.txt', content })
    await visitor
      .file('paused.txt')
      .getByText(/^[1-9]\d? ?% uploaded/)
      .waitFor()
    await visitor.button('Pause: paused.txt').click()
    await visitor
      .file('paused.txt')
      .getByText(/^Paused at/)
      .waitFor()
    expect(await visitor.page.evaluate(focusedLabel)).toBe('Resume: paused.txt')
    proxy.stallAfter(Number.POSITIVE_INFINITY)
    const before = visitor.requests.length
    await visitor.button('Resume: paused.txt').click()
    const { fileId } = await visitor.event('accepted')
    expect((await download(fileId)).equals(content)).toBe(true)
    const resumed = visitor.requests.slice(before).find(({ method }) => method === 'PATCH')!
    expect(Number(resumed.headers['upload-offset'])).toBeGreaterThan(0)
  })

  test('cancels an upload in the upload widget and deletes the received bytes', async () => {
    const used = await link()
    const proxy = await openProxy()
    await open({ url: proxy.url + used.path })
    await visitor.event('ready')
    proxy.stallAfter(1_500_000)
    await visitor.choose({ name: 'canceled.txt', content: Buffer.alloc(18_000_000, 'canceled ') })
    await visitor
      .file('canceled.txt')
      .getByText(/^[1-9]\d? ?% uploaded/)
      .waitFor()
    proxy.stallAfter(Number.POSITIVE_INFINITY)
    const deleted = visitor.page.waitForResponse((response) => response.request().method() === 'DELETE')
    await visitor.button('Cancel: canceled.txt').click()
    expect((await deleted).status()).toBe(204)
    await visitor.event('canceled')
    expect(await visitor.page.evaluate('localStorage.length')).toBe(0)
    expect(await linkOf(used)).toMatchObject({ accepted_files: 0 })
  })

  test('resumes an upload in the upload widget after a page reload', async () => {
    const used = await link()
    const proxy = await openProxy()
    await open({ url: proxy.url + used.path })
    await visitor.event('ready')
    proxy.stallAfter(1_500_000)
    const content = Buffer.alloc(18_000_000, 'reloaded ')
    // The uploaded file is on disk because its modification time identifies it after a reload.
    const path = join(world.dataDir, 'reloaded.txt')
    writeFileSync(path, content)
    await visitor.page.locator('[part=choose-input]').setInputFiles(path)
    await visitor
      .file('reloaded.txt')
      .getByText(/^[1-9]\d? ?% uploaded/)
      .waitFor()
    const stored = (await visitor.page.evaluate('JSON.stringify(localStorage)')) as string
    expect(stored).toContain('reloaded.txt')
    expect(stored).not.toContain(used.token.slice(-43))
    proxy.stallAfter(Number.POSITIVE_INFINITY)
    await visitor.page.reload()
    await visitor.page.getByText('Unfinished upload: reloaded.txt. Choose the same file again to resume the upload.').waitFor()
    const before = visitor.requests.length
    await visitor.page.locator('[part=choose-input]').setInputFiles(path)
    const { fileId } = await visitor.event('accepted')
    expect((await download(fileId)).equals(content)).toBe(true)
    const requests = visitor.requests.slice(before)
    expect(requests.some(({ method }) => method === 'POST')).toBe(false)
    expect(Number(requests.find(({ method }) => method === 'PATCH')!.headers['upload-offset'])).toBeGreaterThan(0)
    expect(await visitor.page.evaluate('localStorage.length')).toBe(0)
  })

  test('automatically continues an upload in the upload widget after the connection is lost', async () => {
    const used = await link()
    const proxy = await openProxy()
    await open({ url: proxy.url + used.path })
    await visitor.event('ready')
    proxy.breakAfter(1_200_000, 900_000)
    const content = Buffer.alloc(4_000_000, 'broken ')
    await visitor.choose({ name: 'broken.txt', content })
    const { fileId } = await visitor.event('accepted')
    expect(proxy.broken).toBe(2)
    expect((await download(fileId)).equals(content)).toBe(true)
  })

  test('reports success for the last file that a link accepts even if the response is lost', async () => {
    const used = await link({ max_files: 1 })
    await open(used)
    await visitor.event('ready')
    let lost = 0
    await visitor.page.route('**/tus', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue()
      lost++
      const response = await route.fetch()
      expect(response.status()).toBe(201)
      await route.abort('connectionreset')
    })
    await visitor.choose({ name: 'last.txt', content: 'hello' })
    const { fileId } = await visitor.event('accepted')
    expect(lost).toBe(1)
    expect((await download(fileId)).toString()).toBe('hello')
    expect(await linkOf(used)).toMatchObject({ status: 'used', accepted_files: 1 })
  })

  test('explains in the upload widget that a link is invalid', async () => {
    const used = await link()
    await tenant.admin.delete(`/upload-links/${used.id}`)
    await open(used)
    const text = 'This upload link is no longer valid. Ask the person who sent it for a new link.'
    await visitor.page.locator('[part=message]').getByText(text).waitFor()
    expect(await visitor.event('error')).toMatchObject({ code: 'not_found' })
    expect(await visitor.button('Try again').count()).toBe(0)
    await visitor.close()
    await open(await link(), { page: { attributes: 'hidden' } })
    await visitor.event('ready')
    await visitor.page.route('**/upload/*', (route) => route.abort())
    await visitor.page.evaluate(`document.querySelector('assay-uploader').hidden = false`)
    await visitor.page.evaluate(`document.querySelector('assay-uploader').url += '#again'`)
    await visitor.button('Try again').waitFor()
    await visitor.page.unroute('**/upload/*')
    await visitor.button('Try again').click()
    await visitor.button('Choose files').waitFor()
  })

  test('finds no accessibility violations in the upload widget', async () => {
    await open(await link())
    await visitor.event('ready')
    expect(await findViolations()).toEqual([])
    // Playwright must intercept the file dialog before the key is pressed.
    const chooser = visitor.page.waitForEvent('filechooser')
    await visitor.page.keyboard.press('Tab')
    expect(await visitor.page.evaluate(focusedLabel)).toBe('Choose files')
    await visitor.page.keyboard.press('Enter')
    await (await chooser).setFiles([
      { name: 'good.txt', mimeType: '', buffer: Buffer.from('hello') },
      { name: 'bad.exe', mimeType: '', buffer: Buffer.from('hello') },
    ])
    await visitor.event('accepted')
    const live = visitor.page.locator('[aria-live=polite]')
    await live.getByText('good.txt was uploaded.').waitFor()
    expect(await findViolations()).toEqual([])
    await visitor.button('Remove: bad.exe').focus()
    await visitor.page.keyboard.press('Enter')
    await visitor.file('bad.exe').waitFor({ state: 'detached' })
    expect(await visitor.page.evaluate(focusedLabel)).toBe('Choose files')
  })

  test('allows a page to customize the colors, CSS parts and labels of the upload widget', async () => {
    const head = `<meta http-equiv="Content-Security-Policy" content="require-trusted-types-for 'script'; trusted-types 'none'; style-src 'nonce-page'">
      <style nonce="page">assay-uploader { --assay-accent: rgb(10, 120, 30) } assay-uploader::part(prompt) { letter-spacing: 3px }</style>`
    const texts = JSON.stringify({ choose: 'Dateien auswählen', rules: 'Erlaubt: {extensions}. Höchstens {size}.' })
    await open(await link(), { page: { head, attributes: `lang="de" texts='${texts}'` } })
    const choose = visitor.button('Dateien auswählen')
    await choose.waitFor()
    await visitor.page.getByText('Erlaubt: txt, png, jpg, bin. Höchstens 20 MB.').waitFor()
    expect(await getStyle(choose, 'backgroundColor')).toBe('rgb(10, 120, 30)')
    const prompt = visitor.page.locator('[part=prompt]')
    expect(await getStyle(prompt, 'letterSpacing')).toBe('3px')
    await visitor.page.evaluate(`document.querySelector('assay-uploader').texts = { choose: 'Choisir' }`)
    await visitor.button('Choisir').waitFor()
  })

  test('shows the upload widget if a browser opens an upload link', async () => {
    const used = await link({ max_files: 1 })
    visitor = await Visitor.open(browser, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })
    await visitor.page.goto(used.url)
    await visitor.choose({ name: 'phone.txt', content: 'hello' })
    await visitor.page.getByText('All files were uploaded.').locator('visible=true').first().waitFor()
    expect(await linkOf(used)).toMatchObject({ status: 'used' })
    expect(await findViolations()).toEqual([])
    for (const { headers } of visitor.requests) expect(headers.referer ?? '').not.toContain('/upload/')
    const gone = await visitor.page.reload()
    expect(gone!.status()).toBe(404)
    await visitor.page.locator('[part=message]').getByText('This upload link is no longer valid.').waitFor()
  })
})

interface Styles {
  getComputedStyle(node: unknown): Record<string, string>
}

const getStyle = (of: Locator, name: string) =>
  of.evaluate((node, key) => (globalThis as never as Styles).getComputedStyle(node)[key], name)

/** Script that returns the accessible name of the focused button in the component. */
const focusedLabel = `(() => {
  const focused = document.querySelector('assay-uploader').shadowRoot.activeElement
  return focused && (focused.getAttribute('aria-label') ?? focused.textContent)
})()`
