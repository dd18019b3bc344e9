import type { Express, Request, RequestHandler, Response } from 'express'
import { notFound } from '../../platform/errors/errors.js'
import { BuiltFiles } from './built-files.js'

/**
 * Paths of the dashboard views, as in dashboard/views.ts. Each view has a separate path, so that users can bookmark and share it.
 */
const views =
  /^\/(?:(?:files|try|contexts|keys|calls|quarantine|audit|webhooks|trash|users|health|proof|links|account)(?:\/[\w-]{1,80})?)?$/

// Content Security Policy without inline scripts, inline styles, external resources, or conversion of strings to markup.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  // Allows download URLs of a local store in a sandboxed frame.
  "media-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const year = 365 * 86_400

export interface Dashboard {
  /** Registers the page at `/` and at the paths of its views, the files below /assets, and the session endpoint. */
  mount(app: Express): void
  /** Sends the page with status 404 to browsers for unknown paths. The page shows the error. */
  notFound: RequestHandler
}

/** Paths below which browsers also get errors as JSON. */
const jsonPaths = /^\/(api|assets|\.well-known)\//

export async function openDashboard(session: RequestHandler): Promise<Dashboard> {
  const files = await BuiltFiles.read('dashboard/public')
  const isBrowser = (request: Request) => request.accepts(['json', 'html']) === 'html'
  const sendPage = (request: Request, response: Response) => {
    response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
    files.send('index.html', request, response)
  }
  const mount = (app: Express) => {
    app.all('/session', session)
    app.get(views, (request, response, next) => {
      // All clients get the page at `/`. At other paths, clients other than browsers get 404.
      if (request.path !== '/' && !isBrowser(request)) return next()
      sendPage(request, response)
    })
    app.get('/assets/:file', (request, response) => {
      if (!files.has(request.params.file)) throw notFound('page', request.path)
      // File names contain a content hash, so files never change.
      response.set('Cache-Control', `public, max-age=${year}, immutable`)
      files.send(request.params.file, request, response)
    })
  }
  const sendNotFoundPage: RequestHandler = (request, response, next) => {
    const isPage = ['GET', 'HEAD'].includes(request.method) && !jsonPaths.test(request.path) && isBrowser(request)
    if (!isPage) return next()
    sendPage(request, response.status(404))
  }
  return { mount, notFound: sendNotFoundPage }
}
