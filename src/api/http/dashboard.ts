import type { Express, RequestHandler } from 'express'
import { notFound } from '../../platform/errors/errors.js'
import { BuiltFiles } from './built-files.js'

/** Paths of the dashboard views. Each view has its own path, so that it can be bookmarked and shared and works with the browser history. */
const views = /^\/(?:(?:files|try|contexts|keys|calls|quarantine|audit|webhooks|trash|users|health|account)(?:\/[\w-]{1,80})?)?$/

// No inline scripts or styles, no external resources, and no conversion of script-generated text to markup.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const year = 365 * 86_400

/** Serves the dashboard: the page at `/` and at the paths of its views, the files below /assets, and the session endpoint. */
export async function openDashboard(session: RequestHandler): Promise<(app: Express) => void> {
  const files = await BuiltFiles.read()
  return (app) => {
    app.all('/session', session)
    app.get(views, (request, response, next) => {
      // `/` serves the page to all clients. At the other paths, clients other than browsers get 404.
      if (request.path !== '/' && request.accepts(['json', 'html']) !== 'html') return next()
      response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
      files.send('index.html', request, response)
    })
    app.get('/assets/:file', (request, response) => {
      if (!files.has(request.params.file)) throw notFound('page', request.path)
      // File names contain a hash of the content.
      response.set('Cache-Control', `public, max-age=${year}, immutable`)
      files.send(request.params.file, request, response)
    })
  }
}
