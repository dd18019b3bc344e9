import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Express, RequestHandler } from 'express'
import { notFound, rejectMethod } from '../../platform/errors/errors.js'
import { createContentSecurityPolicy, StaticFile } from './static-files.js'

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const ours = fileURLToPath(new URL('./docs', import.meta.url))
const llmsText = StaticFile.at(fileURLToPath(new URL('../../../llms.txt', import.meta.url)))

/** Swagger UI files that the page needs. Other files of the package are not served. */
const assets = new Map(
  Object.entries({
    'swagger-ui.css': swaggerUi,
    'swagger-ui-bundle.js': swaggerUi,
    'favicon-32x32.png': swaggerUi,
    'start.js': ours,
  }).map(([file, folder]) => [file, StaticFile.at(join(folder, file))]),
)

// Swagger UI sets element styles by script, which this policy permits. Its style sheet contains images as data: URLs.
const pagePolicy = createContentSecurityPolicy(
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
)
const frontPolicy = createContentSecurityPolicy("style-src 'unsafe-inline'", "img-src 'self'")

/** Without the GraphQL explorer, browsers get 404 at /graphql, so the front page shows the endpoint without a link. */
async function renderFrontPage(explorer: boolean): Promise<Buffer> {
  const html = await readFile(join(ours, 'front.html'), 'utf8')
  return Buffer.from(explorer ? html : html.replace('<a href="graphql">GraphQL</a>', 'GraphQL: <code>POST /graphql</code>'))
}

/**
 * Registers public pages: the OpenAPI document, /docs with its assets, /llms.txt (llmstxt.org), and a front page that links to
 * both APIs.
 */
export function mountDocumentation(app: Express, { explorer }: { explorer: boolean }): void {
  // This file is created by scripts/openapi-types.mjs, and is also used by tests that run from source. It is read at startup, so
  // that a new build does not affect the running service.
  const json = readFileSync(new URL('../../../dist/openapi.json', import.meta.url))
  const document = new StaticFile(async () => json)
  const page = StaticFile.at(join(ours, 'index.html'))
  const front = new StaticFile(() => renderFrontPage(explorer))
  const registerRoute = (path: string, handler: RequestHandler<Record<string, string>>) =>
    app.route(path).get(handler).all(rejectMethod)
  registerRoute('/api/v1/openapi.json', (request, response) =>
    document.sendIfModified(request, response.type('application/json').set('Cache-Control', 'no-cache')),
  )
  registerRoute('/', (request, response) => {
    response.type('html').set({ 'Content-Security-Policy': frontPolicy, 'Cache-Control': 'no-cache' })
    return front.send(request, response)
  })
  registerRoute('/favicon.ico', (request, response) =>
    assets.get('favicon-32x32.png')!.send(request, response.type('png').set('Cache-Control', 'public, max-age=86400')),
  )
  registerRoute('/llms.txt', (request, response) =>
    llmsText.send(request, response.type('text/plain').set('Cache-Control', 'public, max-age=3600')),
  )
  registerRoute('/docs', (request, response) =>
    page.send(request, response.type('html').set('Content-Security-Policy', pagePolicy)),
  )
  // Redirect, because the browser would resolve the page's relative URLs incorrectly if the path had a trailing slash.
  app.get('/docs/', (_request, response) => response.redirect(308, '../docs'))
  registerRoute('/docs/:file', (request, response) => {
    const { file = '' } = request.params
    const asset = assets.get(file)
    if (asset === undefined) throw notFound('page', request.path)
    return asset.send(request, response.type(file).set('Cache-Control', 'public, max-age=3600'))
  })
}
