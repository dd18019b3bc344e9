import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Express, Request, Response } from 'express'
import { rejectMethod } from '../../platform/errors/errors.js'
import { Compressed } from '../openapi/compressed.js'

/** Output of scripts/uploader.mjs. Tests that run from source also use it. */
const script = new URL('../../../dist/uploader/uploader.js', import.meta.url)

/** Serves the web component `<assay-uploader>` at /uploader.js to pages of any origin. */
export function mountUploader(app: Express): void {
  let loaded: ReturnType<typeof loadScript> | undefined
  const send = async (request: Request, response: Response): Promise<void> => {
    loaded ??= loadScript()
    const { headers, content } = await loaded
    response.set(headers)
    if (request.fresh) response.status(304).end()
    else await content.send(request, response.type('text/javascript'))
  }
  app.route('/uploader.js').get(send).all(rejectMethod)
}

async function loadScript() {
  const bytes = await readFile(script)
  const headers = {
    ETag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    'Cache-Control': 'public, max-age=3600, stale-while-revalidate=86400',
    // Browsers require CORS headers to load module scripts from another origin.
    'Access-Control-Allow-Origin': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  }
  return { headers, content: new Compressed(() => Promise.resolve(bytes)) }
}

const page = Compressed.file(fileURLToPath(new URL('./uploader/page.html', import.meta.url)))

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Returns true if a browser navigates to the URL. Scripts and other clients get JSON. */
export const acceptsHtml = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.accepts(['json', 'html']) === 'html'

/** Sends a page with the web component for the upload link in the URL. The page does not contain the token. */
export function sendUploadPage(request: Request, response: Response): Promise<void> {
  response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' }).vary('Accept')
  return page.send(request, response.type('html'))
}
