import type { Request, RequestHandler, Response } from 'express'
import { requireScope } from '../auth/actor.js'
import { readJson, wantBody } from '../body/json.js'
import { AssayError, badUserInput, httpStatus, notFound, type PublicError } from '../errors.js'
import type { Call } from '../graphql/call.js'
import { readMultipartRequest } from '../graphql/multipart.js'
import { recordFailure } from '../graphql/requires.js'
import { admitUpload, recordOversized } from '../rest/upload-admission.js'
import { callOf } from './caller.js'
import type { EdgeParts } from './edge.js'
import { targetOf } from './target.js'

// What Apollo Sandbox needs of a browser; everything else stays shut.
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

/** /graphql: the body of a call, which Apollo Server then answers; in a browser its Sandbox. */
export function graphqlDoor(parts: EdgeParts): RequestHandler {
  return async (request, response) => {
    if (request.method === 'GET' && request.accepts(['application/json', 'html']) === 'html') {
      if (!parts.explorer) throw notFound('page', '/graphql')
      response.setHeader('Content-Security-Policy', sandboxPolicy)
      response.setHeader('Cross-Origin-Embedder-Policy', 'unsafe-none')
    }
    if (request.method !== 'GET' && request.method !== 'POST' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, POST')
      throw new AssayError('method_not_allowed', `${request.method} is not allowed here; allowed: GET, POST.`, {
        details: { allowed: ['GET', 'POST'] },
      })
    }
    const call = await callOf(parts, request)
    let release = () => {}
    try {
      let body: unknown = Object.fromEntries(targetOf(request).query)
      if (request.method === 'POST') {
        if (/^multipart\//i.test(request.headers['content-type'] ?? '')) {
          release = await admitMultipart(parts, request, call)
          body = await receiveMultipart(parts, request, response, call)
        } else {
          wantBody(request, response)
          body = await readJson(request, parts.uploads.idleMs)
        }
      }
      await parts.graphql(request, response, call, body)
    } finally {
      release()
    }
  }
}

/** A multipart body is an upload: scope, CSRF and a slot are asked for before it is read. */
async function admitMultipart(parts: EdgeParts, request: Request, call: Call): Promise<() => void> {
  try {
    const actor = call.requireActor()
    await call.admit(actor, { ahead: true })
    requireScope(actor, 'upload')
    if (!request.headers['apollo-require-preflight'] && !request.headers['x-apollo-operation-name'])
      throw badUserInput([
        {
          field: 'Apollo-Require-Preflight',
          message: 'must be sent with a multipart request, against cross-site request forgery',
        },
      ])
    return await admitUpload(parts.uploads, request, { actor, kept: true })
  } catch (error) {
    const attempt = call.begin('multipart', 'upload')
    if (error instanceof AssayError && error.code === 'size_exceeded') await recordOversized(attempt, error)
    else await recordFailure(attempt, error)
    throw error
  }
}

async function receiveMultipart(parts: EdgeParts, request: Request, response: Response, call: Call): Promise<unknown> {
  const { maxUploadMb, idleMs } = parts.uploads
  try {
    wantBody(request, response)
    return await readMultipartRequest(request, response, { spool: parts.spool, ceiling: maxUploadMb * 1_048_576, idleMs })
  } catch (error) {
    await recordFailure(call.begin('multipart', 'upload'), error)
    throw error
  }
}

/** A fault that is told before Apollo Server has the call, as it would tell it. */
export function sendGraphqlError(response: Response, told: PublicError): void {
  if (told.code === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer')
  if (told.retryAfter !== undefined) response.setHeader('Retry-After', String(told.retryAfter))
  response
    .status(httpStatus[told.code])
    .json({ errors: [{ message: told.message, extensions: { code: told.code.toUpperCase(), details: told.details } }] })
}
