import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Express, RequestHandler } from 'express'
import { Compressed } from '../openapi/compressed.js'

const folder = fileURLToPath(new URL('./graphql-page', import.meta.url))
const page = Compressed.file(join(folder, 'page.html'))
const assets = ['page.js', 'page.css'].map((file) => [file, Compressed.file(join(folder, file))] as const)

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Serves the page at /graphql, in which users write and run documents in the browser. Loads nothing from other hosts. */
export const sendGraphqlPage: RequestHandler = (request, response) => {
  response.set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
  response.vary('Accept')
  return page.send(request, response.type('html'))
}

export function mountGraphqlPage(app: Express): void {
  for (const [file, content] of assets)
    app.get(`/graphql/${file}`, (request, response) =>
      content.send(request, response.type(file).set('Cache-Control', 'public, max-age=3600')),
    )
}
