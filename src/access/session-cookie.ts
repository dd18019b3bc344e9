import { maxTokenBytes } from './token-record.js'

const sessionCookie = 'assay_session'

const sign = { name: 'x-assay-request', value: 'dashboard' }

/**
 * Returns the token in the session cookie. Browsers attach cookies to requests from any page, so the cookie is accepted only with
 * a header that forms and other origins cannot send.
 */
export function readSessionCookie(rawHeaders: readonly string[]): { session: string } | { error: string } | undefined {
  const found: string[] = []
  let isSigned = false
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    if (name === sign.name) isSigned = rawHeaders[at + 1] === sign.value
    if (name === 'cookie') found.push(...parseSessionCookies(rawHeaders[at + 1]!))
  }
  if (!isSigned || found.length === 0) return undefined
  // A page on a sibling host can set a second cookie with this name. Reject the request, because the service cannot determine
  // which cookie is the user's.
  if (found.length > 1)
    return { error: `The request contains two '${sessionCookie}' cookies. Delete this site's cookies and sign in again.` }
  const session = found[0]!
  if (session.length > maxTokenBytes)
    return { error: `The '${sessionCookie}' cookie exceeds ${maxTokenBytes} bytes. Sign in again.` }
  return { session }
}

const parseSessionCookies = (cookies: string): string[] =>
  cookies.split(';').flatMap((pair) => {
    const [name, ...value] = pair.trim().split('=')
    return name === sessionCookie ? [value.join('=')] : []
  })

/** Returns the `Set-Cookie` header for a new session. Without a session, the header deletes the cookie. */
export function createSessionCookieHeader(secure: boolean, session = { token: '', expiresAt: new Date(0) }): string {
  const marks = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Expires=${session.expiresAt.toUTCString()}`]
  return [`${sessionCookie}=${session.token}`, ...marks, ...(secure ? ['Secure'] : [])].join('; ')
}
