import type { Express, RequestHandler } from 'express'
import { createPagePolicy, readBuiltFiles, serveHashedFiles } from './static-files.js'

// GraphiQL adds style elements while a dialog is open. Its icons and fonts are data: URLs.
const policy = createPagePolicy(
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
)

/** GraphQL explorer at /graphql. It loads no resources from other hosts. */
export interface GraphqlPage {
  send: RequestHandler
  /** Registers the page's scripts and styles. */
  mount(app: Express): void
}

export async function openGraphqlPage(): Promise<GraphqlPage> {
  const files = await readBuiltFiles('explorer')
  return {
    send: (request, response) => {
      response.vary('Accept').set({ 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' })
      return files.get('page.html')!.send(request, response.type('html'))
    },
    mount: (app) => app.get('/graphql/:file', serveHashedFiles(files)),
  }
}
