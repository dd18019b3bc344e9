import type { Express, Request, Response } from 'express'
import { rejectMethod } from '../../platform/errors/errors.js'
import { createContentSecurityPolicy, StaticFile } from './static-files.js'

const headers = {
  'Cache-Control': 'public, max-age=3600, stale-while-revalidate=86400',
  // Browsers require CORS headers to load module scripts from another origin.
  'Access-Control-Allow-Origin': '*',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

/** Serves the `<assay-uploader>` web component at /uploader.js to pages of any origin. */
export function mountUploader(app: Express): void {
  // scripts/uploader.mjs builds this script. Tests that run from source also use it.
  const script = StaticFile.at(new URL('../../../dist/uploader/uploader.js', import.meta.url))
  app
    .route('/uploader.js')
    .get((request, response) => script.sendIfModified(request, response.type('text/javascript').set(headers)))
    .all(rejectMethod)
}

const page = StaticFile.at(new URL('./uploader/page.html', import.meta.url))
const policy = createContentSecurityPolicy("script-src 'self'", "style-src 'unsafe-inline'", "connect-src 'self'")

/** Sends a page with the web component for the upload link in the URL. The page does not contain the token. */
export function sendUploadPage(request: Request, response: Response): Promise<void> {
  response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' }).vary('Accept')
  return page.send(request, response.type('html'))
}
