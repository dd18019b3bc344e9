import type { Express, Request, RequestHandler, Response } from 'express'
import type { Call } from '../../access/call.js'
import { uploadEndpoint } from '../../access/endpoint.js'
import { createErrorHeaders, toGraphqlError } from '../../access/public-error.js'
import { httpStatus, invalidField, methodNotAllowed, notFound, type PublicError } from '../../platform/errors/errors.js'
import type { Spool } from '../../platform/spool/spool.js'
import { readJson } from '../bodies/json.js'
import { sendContinue } from '../bodies/request-body.js'
import type { GraphqlHandler } from '../graphql/server.js'
import { readUploadRequest } from '../graphql/upload-request.js'
import { type CallerDependencies, createCall, getTarget } from './caller.js'
import { createContentSecurityPolicy, readBuiltFiles, serveHashedFiles } from './static-files.js'

export interface GraphqlHandlerDependencies extends CallerDependencies {
  graphql: GraphqlHandler
  /** GraphQL explorer at /graphql. Undefined if it is disabled. */
  graphqlPage: GraphqlPage | undefined
  spool: Spool
}

// Content Security Policy that allows only the sources that Apollo Sandbox needs.
const sandboxPolicy = [
  "default-src 'none'",
  "script-src 'unsafe-inline' https://embeddable-sandbox.cdn.apollographql.com",
  "style-src 'unsafe-inline' https://fonts.googleapis.com",
  'font-src https://fonts.gstatic.com',
  'img-src https://apollo-server-landing-page.cdn.apollographql.com data:',
  'manifest-src https://apollo-server-landing-page.cdn.apollographql.com',
  'frame-src https://sandbox.embed.apollographql.com',
  "connect-src 'self'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Creates the handler of /graphql, which executes GraphQL requests with Apollo Server. Browsers receive the GraphQL explorer or
 * Apollo Sandbox.
 */
export function createGraphqlHandler(dependencies: GraphqlHandlerDependencies): RequestHandler {
  return async (request, response, next) => {
    if (request.method === 'GET' && request.accepts(['application/json', 'html']) === 'html') {
      if (!dependencies.graphqlPage) throw notFound('page', '/graphql')
      if (!getTarget(request).query.has('sandbox')) return dependencies.graphqlPage.send(request, response, next)
      response.setHeader('Content-Security-Policy', sandboxPolicy)
      response.setHeader('Cross-Origin-Embedder-Policy', 'unsafe-none')
    }
    if (request.method !== 'GET' && request.method !== 'POST' && request.method !== 'HEAD')
      throw methodNotAllowed(request.method, ['GET', 'POST'])
    const call = await createCall(dependencies, request)
    const executeRequest = (body: unknown) => dependencies.graphql(request, response, call, body)
    if (request.method !== 'POST') return executeRequest(Object.fromEntries(getTarget(request).query))
    // Treat every multipart request as an upload, because its document is unknown until the body is read.
    if (/^multipart\//i.test(request.headers['content-type'] ?? ''))
      return call.admitUpload(uploadEndpoint, request.headers, async () =>
        executeRequest(await readRequest(dependencies, request, response, call)),
      )
    sendContinue(request, response)
    return executeRequest(await call.admission.bodies.readJson(call, (limits) => readJson(request, limits)))
  }
}

function readRequest({ spool }: GraphqlHandlerDependencies, request: Request, response: Response, call: Call): Promise<unknown> {
  if (!request.headers['apollo-require-preflight'] && !request.headers['x-apollo-operation-name'])
    throw invalidField('Apollo-Require-Preflight', 'is required for multipart requests, to prevent cross-site request forgery')
  sendContinue(request, response)
  const { ceiling, idleMs } = call.admission.bodies
  return readUploadRequest(request, response, { spool, ceiling, idleMs })
}

// Supported media types. A client that accepts any type receives the first one
// (https://graphql.github.io/graphql-over-http/draft/#sec-Media-Types).
const answerTypes = ['application/json', 'application/graphql-response+json']

/** Sends an error that occurs before Apollo Server receives the request, in Apollo Server's format. */
export function sendGraphqlError(request: Request, response: Response, error: PublicError): void {
  response
    .type(request.accepts(answerTypes) || answerTypes[0]!)
    .status(httpStatus[error.code])
    .set(createErrorHeaders(error, request.headers.authorization))
    .json({ errors: [toGraphqlError(error)] })
}

// GraphiQL adds style elements while a dialog is open. Its icons and fonts are data: URLs.
const explorerPolicy = createContentSecurityPolicy(
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
      response.vary('Accept').set({ 'Content-Security-Policy': explorerPolicy, 'Cache-Control': 'no-cache' })
      return files.get('page.html')!.send(request, response.type('html'))
    },
    mount: (app) => app.get('/graphql/:file', serveHashedFiles(files)),
  }
}
