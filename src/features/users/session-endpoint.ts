import type { Request, RequestHandler } from 'express'
import type { Call } from '../../access/call.js'
import { createSessionCookieHeader } from '../../access/session-cookie.js'
import { readJson } from '../../api/bodies/json.js'
import { sendContinue } from '../../api/bodies/request-body.js'
import { findUnknownNames } from '../../api/rest/variables.js'
import { badUserInput, type FieldError, methodNotAllowed, unauthenticated } from '../../platform/errors/errors.js'
import type { SignInService } from './sign-in.service.js'
import type { SignIn } from './user.types.js'

interface Dependencies {
  signIns: SignInService
  createCall(request: Request): Promise<Call>
  /** True if clients reach the service over HTTPS. */
  secure: boolean
}

/** Handles `POST /session`, which sets a session cookie, and `DELETE /session`, which ends the session on the server. */
export function createSessionHandler({ signIns, createCall, secure }: Dependencies): RequestHandler {
  return async (request, response) => {
    response.setHeader('Cache-Control', 'no-store')
    const setCookie = (session?: SignIn) =>
      response.setHeader('Set-Cookie', createSessionCookieHeader(secure || request.secure, session))
    const sendData = (data: object | null) => response.json({ status: 'SUCCESS', data, timestamp: new Date().toISOString() })
    if (request.method !== 'POST' && request.method !== 'DELETE') throw methodNotAllowed(request.method, ['POST', 'DELETE'])
    const call = await createCall(request)
    if (request.method === 'POST') {
      sendContinue(request, response)
      const session = await startSession(signIns, call, request)
      setCookie(session)
      return sendData(toSessionResponse(session))
    }
    if (call.rejection) setCookie()
    if (!(await signIns.signOut(call.requireActor())))
      throw unauthenticated(
        'This credential does not belong to a session. To sign out, send a session token or a session cookie.',
      )
    setCookie()
    return sendData(null)
  }
}

async function startSession(signIns: SignInService, call: Call, request: Request): Promise<SignIn> {
  // Accept only JSON, which HTML forms cannot send, so that a page on another site cannot sign a user in.
  const input = await call.admission.bodies.readJson(call, (limits) => readJson(request, limits))
  return 'welcome' in input
    ? signIns.signInWithWelcomeToken(call.origin, readTextFields(input, ['welcome'], []).welcome!)
    : signIns.signIn(call.origin, readCredentials(input), call.signal)
}

/** Omits the token, which only the cookie contains, so that scripts cannot read it. */
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
