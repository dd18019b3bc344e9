import { randomBytes } from 'node:crypto'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Scope } from '../../src/platform/actor.js'
import { createSystemActor } from '../../src/platform/actor.js'
import { openBrowser, timeoutMs } from './browser.js'
import type { TestTenant, World } from './world.js'

const allScopes: Scope[] = ['upload', 'download', 'metadata', 'delete', 'admin']

/** A browser that records problems on its pages. */
export class Dashboard {
  /** Console errors, uncaught errors and requests to other hosts. */
  readonly problems: string[] = []

  private constructor(
    readonly browser: Browser,
    readonly world: World,
  ) {}

  static async open(world: World): Promise<Dashboard> {
    const browser = await openBrowser()
    return new Dashboard(browser, world)
  }

  /** Closes a test's pages and returns their problems. */
  async endTest(): Promise<string[]> {
    await Promise.all(this.browser.contexts().map((context) => context.close()))
    return this.problems.splice(0)
  }

  /** Creates a browser context with its own cookies. */
  async newBrowserContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({
      baseURL: this.world.url,
      viewport: { width: 1280, height: 800 },
      acceptDownloads: true,
      permissions: ['clipboard-read', 'clipboard-write'],
      ...options,
    })
    context.setDefaultTimeout(timeoutMs)
    context.on('page', (page) => this.#watch(page))
    return context
  }

  #watch(page: Page): void {
    page.on('pageerror', (error) => this.problems.push(error.message))
    page.on('console', (message) => {
      // Ignores browser messages about error responses and a disconnected network.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.problems.push(message.text())
    })
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (protocol !== 'blob:' && protocol !== 'data:' && origin !== this.world.url) this.problems.push(request.url())
    })
  }

  /** Opens a page as a signed-in user at the given path. */
  async openSignedIn(
    tenant: TestTenant,
    { scopes = allScopes, at = '/', ...options }: { scopes?: Scope[]; at?: string } & BrowserContextOptions = {},
  ): Promise<Page & { user: { userId: string; email: string; password: string } }> {
    const user = await this.createUser(tenant, scopes)
    const context = await this.newBrowserContext(options)
    await context.request.post('/session', { data: { email: user.email, password: user.password } })
    const page = await context.newPage()
    await page.goto(at)
    await page.locator('.sidebar').waitFor()
    return Object.assign(page, { user })
  }

  async createUser(tenant: TestTenant, scopes: Scope[]): Promise<{ userId: string; email: string; password: string }> {
    const password = randomBytes(9).toString('base64url')
    const email = `${randomBytes(4).toString('hex')}@example.com`
    const input = { email, name: 'Ada Lovelace', scopes: scopes as never, password }
    const { user } = await this.world.app.services.users.create(createSystemActor(tenant.tenantId), input)
    return { userId: user.userId, email, password }
  }

  close(): Promise<void> {
    return this.browser.close()
  }
}

export const selectFiles = (page: Page, ...files: { name: string; content: Buffer | string }[]): Promise<void> =>
  page
    .locator('input[type=file]')
    .setInputFiles(files.map(({ name, content }) => ({ name, mimeType: '', buffer: Buffer.from(content) })))
