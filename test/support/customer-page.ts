import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { timeoutMs } from './browser.js'

/** A web component event as received by a customer's page. */
export interface UploaderEvent {
  type: string
  detail: Record<string, unknown>
}

const eventTypes = ['ready', 'error', 'start', 'accepted', 'rejected', 'failed', 'canceled', 'complete']

/** A customer's web server on a separate origin, which serves the same page at all paths. */
export class HostServer {
  html = ''

  private constructor(private readonly server: Server) {}

  static async open(): Promise<HostServer> {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(host.html)
    })
    const host = new HostServer(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return host
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Serves a page with the web component. `script` is the component's URL on the service. */
  show(linkUrl: string, { attributes = '', head = '', body = '' } = {}): void {
    const { origin } = new URL(linkUrl)
    this.html = `<!doctype html><html lang="en"><title>Customer</title>${head}
      <script>
        window.events = []
        for (const type of ${JSON.stringify(eventTypes)})
          addEventListener('assay-' + type, ({ detail }) => events.push({ type, detail }))
      </script>
      <script type="module" src="${origin}/uploader.js"></script>
      <main><h1>Customer</h1>${body}<assay-uploader url="${linkUrl}" ${attributes}></assay-uploader></main></html>`
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}

/** A browser page with the web component. */
export class Visitor {
  /** Console errors and uncaught errors. */
  readonly problems: string[] = []
  /** Requests to the service, as method and path. */
  readonly requests: { method: string; path: string; headers: Record<string, string> }[] = []

  private constructor(readonly page: Page) {}

  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    page.setDefaultTimeout(timeoutMs)
    const visitor = new Visitor(page)
    page.on('pageerror', (error) => visitor.problems.push(error.message))
    page.on('console', (message) => {
      // Ignores browser messages about error responses and lost connections.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        visitor.problems.push(message.text())
    })
    page.on('request', (request) =>
      visitor.requests.push({ method: request.method(), path: new URL(request.url()).pathname, headers: request.headers() }),
    )
    return visitor
  }

  events = (): Promise<UploaderEvent[]> => this.page.evaluate('window.events')

  /** Waits for an event and returns its details. */
  async event(type: string, count = 1): Promise<Record<string, unknown>> {
    const isThere = `window.events.filter((event) => event.type === ${JSON.stringify(type)}).length >= ${count}`
    await this.page.waitForFunction(isThere, undefined, { timeout: timeoutMs }).catch(async () => {
      throw new Error(`The event '${type}' was not received. Received events: ${JSON.stringify(await this.events())}`)
    })
    return (await this.events()).filter((event) => event.type === type)[count - 1]!.detail
  }

  choose = (...files: { name: string; content: string | Buffer }[]): Promise<void> =>
    this.page
      .locator('[part=choose-input]')
      .setInputFiles(files.map(({ name, content }) => ({ name, mimeType: '', buffer: Buffer.from(content) })))

  file = (name: string) => this.page.locator('[part~=file]', { hasText: name })

  button = (name: string) => this.page.getByRole('button', { name, exact: true })

  close = () => this.page.context().close()
}
