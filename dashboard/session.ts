import { computed, signal } from '@preact/signals'
import { type ApiError, parseErrorBody, toApiError } from './api/api-error.js'
import { clearCache, client, unauthenticatedCount } from './api/client.js'
import { graphql, type ResultOf } from './api/graphql.js'
import { navigate } from './router.js'

const meDocument = graphql(`
  query Me {
    me { id name email scopes type tenantId secondFactorDue }
  }
`)

type Me = NonNullable<ResultOf<typeof meDocument>['me']>
export type Scope = Me['scopes'][number]

/** Signed-in user. Undefined while the user is loading, and null if no user is signed in. */
export const me = signal<Me | null | undefined>(undefined)

/** True if the session ended while the page was open. A sign-in dialog then covers the page. */
export const isSessionExpired = signal(false)

// True during sign-out. Other requests may then fail with 401, which must not open the sign-in dialog.
let isSigningOut = false

/** Error from the first request for the current user. */
export const startError = signal<ApiError | undefined>(undefined)

export const signInError = signal<ApiError | undefined>(undefined)

const scopes = computed(() => me.value?.scopes ?? [])

/** Checks whether the user has a scope. Scope `admin` includes all scopes. */
export const hasScope = (scope: Scope): boolean => scopes.value.includes(scope) || scopes.value.includes('admin')

// Other tabs share the session cookie, so they must be notified of each sign-in and sign-out.
const otherTabs = new BroadcastChannel('assay.session')
otherTabs.addEventListener('message', () => void loadCurrentUser())

/** Loads the current user. If the URL contains a welcome token, signs in with it first and removes it from the URL. */
export async function startSession(): Promise<void> {
  const welcome = /^#welcome=([\w.-]+)$/.exec(location.hash)?.[1]
  if (welcome) {
    history.replaceState(null, '', location.pathname)
    signInError.value = await signIn({ welcome })
    if (!signInError.value) return
  }
  await loadCurrentUser()
}

// Handle a welcome link that the user opens while the dashboard is open. Only the hash changes, so the page does not reload.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#welcome=')) void startSession()
})

export async function loadCurrentUser(): Promise<void> {
  const requestClient = client
  const { data, error } = await requestClient.query(meDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  // Ignore the response if the user has signed in or out since the request, because it is out of date.
  if (requestClient !== client) return
  const apiError = error && toApiError(error)
  if (apiError && apiError.code !== 'UNAUTHENTICATED') {
    startError.value = apiError
    return
  }
  const before = me.peek()
  const now = data?.me ?? null
  if (before && !now) isSessionExpired.value = true
  else {
    isSessionExpired.value = false
    me.value = now
    if (before && now && before.id !== now.id) {
      clearCache()
      navigate('/')
    }
  }
  if (now) startError.value = undefined
}

export interface Credentials {
  email: string
  password: string
  code?: string
}

/** Signs in. Returns the error if the service rejects the credentials. */
export async function signIn(credentials: Credentials | { welcome: string }): Promise<ApiError | undefined> {
  const error = await sendSessionRequest('POST', credentials)
  if (error) return error
  signInError.value = undefined
  clearCache()
  await loadCurrentUser()
  otherTabs.postMessage('in')
  return undefined
}

export async function signOut(): Promise<void> {
  isSigningOut = true
  await sendSessionRequest('DELETE')
  isSigningOut = false
  clearCache()
  isSessionExpired.value = false
  me.value = null
  otherTabs.postMessage('out')
  navigate('/', { replace: true })
}

async function sendSessionRequest(method: string, body?: object): Promise<ApiError | undefined> {
  try {
    const response = await fetch('/session', {
      method,
      headers: { 'X-Assay-Request': 'dashboard', ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return response.ok ? undefined : parseErrorBody(await response.json())
  } catch (error) {
    return toApiError(error)
  }
}

unauthenticatedCount.subscribe((count) => {
  if (count > 0 && me.peek() && !isSigningOut) isSessionExpired.value = true
})
