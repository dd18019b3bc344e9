import type { Express, RequestHandler } from 'express'
import { notFound } from '../../platform/errors/errors.js'
import { BuiltFiles } from './built-files.js'

// GraphiQL adds style elements while a dialog is open. Its icons and fonts are data: URLs.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const year = 365 * 86_400

/** GraphQL explorer at /graphql. It loads no resources from other hosts. */
export class GraphqlPage {
  readonly #files: BuiltFiles

  private constructor(files: BuiltFiles) {
    this.#files = files
  }

  static open = async (): Promise<GraphqlPage> => new GraphqlPage(await BuiltFiles.read('explorer'))

  readonly send: RequestHandler = (request, response) => {
    response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
    response.vary('Accept')
    this.#files.send('page.html', request, response)
  }

  /** Registers the page's scripts and styles. */
  mount(app: Express): void {
    app.get('/graphql/:file', (request, response) => {
      if (!this.#files.has(request.params.file)) throw notFound('page', request.path)
      // File names contain a content hash, so files never change.
      response.set('Cache-Control', `public, max-age=${year}, immutable`)
      this.#files.send(request.params.file, request, response)
    })
  }
}
