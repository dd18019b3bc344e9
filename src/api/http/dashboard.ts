import type { Express, Request, RequestHandler, Response } from 'express'
import { acceptsHtml, createContentSecurityPolicy, readBuiltFiles, serveHashedFiles } from './static-files.js'

/**
 * Paths of the dashboard views, as in dashboard/views.ts. Each view has a separate path, so that users can bookmark and share it.
 */
const views =
  /^\/(?:(?:files|try|contexts|keys|calls|quarantine|audit|webhooks|trash|users|health|proof|links|account)(?:\/[\w-]{1,80})?)?$/

// Content Security Policy that forbids inline scripts, inline styles, external resources, and conversion of strings to markup.
const policy = createContentSecurityPolicy(
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  // Allows the media player, which is a sandboxed frame, to load the download URLs of a local store.
  "media-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
)

export interface Dashboard {
  /** Registers the page at `/` and at the paths of its views, the files under /assets, and the session endpoint. */
  mount(app: Express): void
  /** Sends the page with status 404 if a browser requests an unknown path. The page then displays the error. */
  notFound: RequestHandler
}

/** Paths under which even browsers receive errors as JSON. */
const jsonPaths = /^\/(api|assets|\.well-known)\//

export async function openDashboard(session: RequestHandler): Promise<Dashboard> {
  const files = await readBuiltFiles('dashboard/public')
  const sendPage = (request: Request, response: Response) => {
    response.type('html').set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
    return files.get('index.html')!.send(request, response)
  }
  const mount = (app: Express) => {
    app.all('/session', session)
    app.get(views, (request, response, next) => {
      // At `/`, all clients receive the page. At the paths of the views, clients other than browsers receive 404.
      if (request.path !== '/' && !acceptsHtml(request)) return next()
      return sendPage(request, response)
    })
    app.get('/assets/:file', serveHashedFiles(files))
  }
  const sendNotFoundPage: RequestHandler = (request, response, next) => {
    if (jsonPaths.test(request.path) || !acceptsHtml(request)) return next()
    return sendPage(request, response.status(404))
  }
  return { mount, notFound: sendNotFoundPage }
}
