import type { Express, RequestHandler } from 'express'
import { notFound } from '../../platform/errors/errors.js'
import { BuiltFiles } from './built-files.js'

/** The page's own addresses: every view has one, so that it can be kept, shared and gone back to. */
const views = /^\/(?:(?:files|try|contexts|keys|calls|quarantine|audit|webhooks|trash|users|health|account)(?:\/[\w-]{1,80})?)?$/

// No inline script or style, nothing from elsewhere, and no text that a script makes into markup.
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

/** The dashboard: its page at `/` and at its views' addresses, its files below /assets, and the sessions of those who use it. */
export async function openDashboard(session: RequestHandler): Promise<(app: Express) => void> {
  const files = await BuiltFiles.read()
  return (app) => {
    app.all('/session', session)
    app.get(views, (request, response, next) => {
      // `/` is the page for all; at the others a program is answered that there is no such endpoint.
      if (request.path !== '/' && request.accepts(['json', 'html']) !== 'html') return next()
      response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
      files.send('index.html', request, response)
    })
    app.get('/assets/:file', (request, response) => {
      if (!files.has(request.params.file)) throw notFound('page', request.path)
      // Their names hold a hash of what is in them.
      response.set('Cache-Control', `public, max-age=${year}, immutable`)
      files.send(request.params.file, request, response)
    })
  }
}
