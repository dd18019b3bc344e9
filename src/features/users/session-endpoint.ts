import type { Request, RequestHandler, Response } from 'express'
import type { Call } from '../../access/call.js'
import { createSessionCookieHeader } from '../../access/session-cookie.js'
import { readJson } from '../../api/bodies/json.js'
import { sendContinue } from '../../api/bodies/request-body.js'
import { findUnknownNames } from '../../api/rest/variables.js'
import { badUserInput, type FieldError, methodNotAllowed, unauthenticated } from '../../platform/errors/errors.js'
import type { SignInService } from './sign-in.service.js'
import type { SignIn } from './user.types.js'

export interface SessionHandlerDependencies {
  signIns: SignInService
  createCall(request: Request): Promise<Call>
  /** True if clients reach the service over HTTPS. */
  secure: boolean
}

/** Handles `POST /session`, which sets a session cookie, and `DELETE /session`, which ends the session on the server. */
export function createSessionHandler(dependencies: SessionHandlerDependencies): RequestHandler {
  return async (request, response) => {
    response.setHeader('Cache-Control', 'no-store')
    const secure = dependencies.secure || request.secure
    if (request.method === 'POST') return startSession(dependencies, request, response, secure)
    if (request.method === 'DELETE') return endSession(dependencies, request, response, secure)
    throw methodNotAllowed(request.method, ['POST', 'DELETE'])
  }
}

async function startSession(
  { signIns, createCall }: SessionHandlerDependencies,
  request: Request,
  response: Response,
  secure: boolean,
) {
  const call = await createCall(request)
  sendContinue(request, response)
  // HTML forms cannot send JSON, so a page on another site cannot sign a user in.
  const input = await call.admission.bodies.readJson(call, (limits) => readJson(request, limits))
  const session =
    'welcome' in input
      ? await signIns.signInWithWelcomeToken(call.origin, readTextFields(input, ['welcome'], []).welcome!)
      : await signIns.signIn(call.origin, readCredentials(input), call.signal)
  response.setHeader('Set-Cookie', createSessionCookieHeader(secure, session))
  response.json({ status: 'SUCCESS', data: toSessionResponse(session), timestamp: new Date().toISOString() })
}

async function endSession(
  { signIns, createCall }: SessionHandlerDependencies,
  request: Request,
  response: Response,
  secure: boolean,
) {
  const call = await createCall(request)
  if (call.rejection) response.setHeader('Set-Cookie', createSessionCookieHeader(secure))
  if (!(await signIns.signOut(call.requireActor())))
    throw unauthenticated('This credential does not belong to a session. To sign out, send a session token or a session cookie.')
  response.setHeader('Set-Cookie', createSessionCookieHeader(secure))
  response.json({ status: 'SUCCESS', data: null, timestamp: new Date().toISOString() })
}

/** Only the cookie contains the token, so that scripts cannot read it. */
const toSessionResponse = ({ expiresAt, secondFactorDue, user: { userId, email, name, scopes } }: SignIn) => ({
  expires_at: expiresAt.toISOString(),
  second_factor_due: secondFactorDue,
  user: { user_id: userId, email, name, scopes },
})

function readCredentials(input: Record<string, unknown>) {
  const { email, password, code, tenant_id: tenantId } = readTextFields(input, ['email', 'password'], ['code', 'tenant_id'])
  return { email: email!, password: password!, ...(code && { code }), ...(tenantId && { tenantId }) }
}

const maxLengths: Record<string, number> = { email: 254, password: 1024, code: 64, tenant_id: 64, welcome: 300 }

/** Reads text fields and checks their lengths. Throws a 400 error that lists all invalid fields. */
function readTextFields(
  input: Record<string, unknown>,
  required: string[],
  optional: string[],
): Record<string, string | undefined> {
  const known = [...required, ...optional]
  const invalid: FieldError[] = findUnknownNames(Object.keys(input), known, 'a member of this request')
  const values: Record<string, string | undefined> = {}
  for (const field of known) {
    const value = input[field] ?? undefined
    if (value === undefined && optional.includes(field)) continue
    if (typeof value === 'string' && value.length >= 1 && value.length <= maxLengths[field]!) values[field] = value
    else invalid.push({ field, message: `must have 1 to ${maxLengths[field]} characters` })
  }
  if (invalid.length > 0) throw badUserInput(invalid)
  return values
}
