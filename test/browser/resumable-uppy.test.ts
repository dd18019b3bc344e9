import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { BreakingProxy } from '../support/breaking-proxy.js'
import { openBrowser, timeoutMs } from '../support/browser.js'
import { describeWith } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

interface Seen {
  outcome: 'success' | 'error'
  fileId?: string
  offset?: string
  status?: number
  body?: string
}

describeWith('chromium')('Uppy on a page with another origin', () => {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  let page: Page
  const pages = createServer()
  beforeAll(async () => {
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
    world = await World.open({ CORS_ORIGINS: origin })
    tenant = await world.createTenant()
    await tenant.createContext('raw', { allowed_extensions: ['bin', 'txt'], max_file_size_mb: 20 })
    browser = await openBrowser()
    const [bundle] = (
      await build({
        entryPoints: [fileURLToPath(new URL('../support/uppy-page.mjs', import.meta.url))],
        bundle: true,
        write: false,
        format: 'iife',
        platform: 'browser',
        logLevel: 'silent',
      })
    ).outputFiles
    const script = bundle!.text.replaceAll('</script', '<\\/script')
    pages.on('request', (_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<!doctype html><meta charset="utf-8"><script>${script}</script>`)
    })
    page = await browser.newPage()
    page.setDefaultTimeout(timeoutMs)
    // Uppy waits for a connection if the browser reports that it is offline.
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'onLine', { get: () => true })")
    await page.goto(`${origin}/`)
  })
  afterAll(async () => {
    await browser.close()
    pages.close()
    await world.close()
  })

  const send = (url: string, name: string, text: string, times = 1): Promise<Seen> =>
    page.evaluate((input) => (globalThis as never as { send(input: unknown): Promise<Seen> }).send(input), {
      endpoint: `${url}/api/v1/uploads`,
      credential: tenant.admin.credential,
      context: 'raw',
      name,
      text,
      times,
    })

  test('resumes an upload with Uppy after lost connections', async () => {
    const proxy = await BreakingProxy.open(world.url)
    proxy.breakAfter(700_001, 400_003)
    const text = randomBytes(7_500).toString('base64')
    const content = Buffer.from(text.repeat(150))
    const observed = await send(proxy.url, 'from-a-browser.txt', text, 150)
    proxy.close()
    expect(observed).toEqual({ outcome: 'success', fileId: expect.stringMatching(/^file_/), offset: String(content.length) })
    expect(proxy.broken).toBe(2)
    const { download_url: url } = (await tenant.admin.get(`/files/${observed.fileId}`)).body.data
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true)
  })

  test('reports the rejection reason to Uppy', async () => {
    const early = await send(world.url, 'program.exe', 'x')
    expect(early).toMatchObject({ outcome: 'error', status: 422 })
    expect([early.status, JSON.parse(early.body!).error.code]).toEqual([422, 'invalid_extension'])
    const late = await send(world.url, 'blank.txt', '   ')
    expect([late.status, JSON.parse(late.body!).error.code]).toEqual([422, 'blank_file'])
  })
})
