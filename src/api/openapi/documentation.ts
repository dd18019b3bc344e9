import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Express } from 'express'
import type { GraphQLSchema } from 'graphql'
import { notFound, rejectMethod } from '../../platform/errors/errors.js'
import { Compressed } from './compressed.js'
import { apiPrefix, createOpenApiDocument } from './openapi.js'

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const ours = fileURLToPath(new URL('./docs', import.meta.url))
const llmsText = Compressed.file(fileURLToPath(new URL('../../../llms.txt', import.meta.url)))

/** Swagger UI files that the page needs. Other files of the package are not served. */
const assets = new Map(
  Object.entries({
    'swagger-ui.css': swaggerUi,
    'swagger-ui-bundle.js': swaggerUi,
    'favicon-32x32.png': swaggerUi,
    'start.js': ours,
  }).map(([file, folder]) => [file, Compressed.file(join(folder, file))]),
)

// Swagger UI sets element styles by script, which this policy permits. Its images are data: URLs in its style sheet.
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const frontPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Without the GraphQL explorer, browsers get 404 at /graphql, so the front page shows the endpoint without a link. */
async function renderFrontPage(explorer: boolean): Promise<Buffer> {
  const html = await readFile(join(ours, 'front.html'), 'utf8')
  return Buffer.from(explorer ? html : html.replace('<a href="graphql">GraphQL</a>', 'GraphQL: <code>POST /graphql</code>'))
}

/**
 * Registers public pages: the OpenAPI document, /docs with its assets, /llms.txt (llmstxt.org), and a front page that links to
 * both APIs.
 */
export function mountDocumentation(app: Express, schema: GraphQLSchema, { explorer }: { explorer: boolean }): void {
  const json = Buffer.from(JSON.stringify(createOpenApiDocument(schema)))
  const document = new Compressed(() => Promise.resolve(json))
  const page = Compressed.file(join(ours, 'index.html'))
  const front = new Compressed(() => renderFrontPage(explorer))
  const etag = `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"`
  app
    .route(`${apiPrefix}/openapi.json`)
    .get((request, response) => {
      response.set({ ETag: etag, 'Cache-Control': 'no-cache' })
      if (request.fresh) response.status(304).end()
      else return document.send(request, response.type('application/json'))
    })
    .all(rejectMethod)
  app
    .route('/')
    .get((request, response) => {
      response.set('Content-Security-Policy', frontPolicy)
      return front.send(request, response.type('html').set('Cache-Control', 'no-cache'))
    })
    .all(rejectMethod)
  app
    .route('/favicon.ico')
    .get((request, response) =>
      assets.get('favicon-32x32.png')!.send(request, response.type('png').set('Cache-Control', 'public, max-age=86400')),
    )
    .all(rejectMethod)
  app
    .route('/llms.txt')
    .get((request, response) => llmsText.send(request, response.type('text/plain').set('Cache-Control', 'public, max-age=3600')))
    .all(rejectMethod)
  app
    .route('/docs')
    .get((request, response) => {
      response.set('Content-Security-Policy', pagePolicy)
      return page.send(request, response.type('html'))
    })
    .all(rejectMethod)
  // Redirect, because relative URLs of the page would be wrong with a trailing slash.
  app.get('/docs/', (_request, response) => response.redirect(308, '../docs'))
  app
    .route('/docs/:file')
    .get((request, response) => {
      const asset = assets.get(request.params.file)
      if (asset === undefined) throw notFound('page', request.path)
      return asset.send(request, response.type(request.params.file).set('Cache-Control', 'public, max-age=3600'))
    })
    .all(rejectMethod)
}
