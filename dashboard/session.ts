import { computed, signal } from '@preact/signals'
import { client, forgetAnswers, refusedSession } from './api/client.js'
import { type Fault, faultOf, faultOfBody } from './api/fault.js'
import { graphql, type ResultOf } from './api/graphql.js'
import { go } from './router.js'

const meDocument = graphql(`
  query Me {
    me { id name email scopes type tenantId secondFactorDue }
  }
`)

type Me = NonNullable<ResultOf<typeof meDocument>['me']>
export type Scope = Me['scopes'][number]

/** Undefined until it is known; null where no user is signed in. */
export const me = signal<Me | null | undefined>(undefined)

/** A session that was open here has ended: the page stays as it is below the sign-in. */
export const hasEnded = signal(false)

// While the user signs out, what was still being asked is refused.
let isLeaving = false

/** Why the first look could not be had. */
export const startFault = signal<Fault | undefined>(undefined)

const scopes = computed(() => me.value?.scopes ?? [])

/** `admin` implies every scope. What may not be done is not offered. */
export const may = (scope: Scope): boolean => scopes.value.includes(scope) || scopes.value.includes('admin')

// The other tabs of this browser, which share the cookie.
const tabs = new BroadcastChannel('assay.session')
tabs.addEventListener('message', () => void learnMe())

/** First of all: a first visit's link signs in, and leaves the address at once. */
export async function beginSession(): Promise<void> {
  const welcome = /^#welcome=([\w.-]+)$/.exec(location.hash)?.[1]
  if (welcome) {
    history.replaceState(null, '', location.pathname)
    const fault = await signIn({ welcome })
    if (!fault) return
    startFault.value = fault
  }
  await learnMe()
}

async function learnMe(): Promise<void> {
  const asked = client
  const { data, error } = await asked.query(meDocument, {}, { requestPolicy: 'network-only' }).toPromise()
  // Since then a user came or went, and that is what counts.
  if (asked !== client) return
  const fault = error && faultOf(error)
  if (fault && fault.code !== 'UNAUTHENTICATED') {
    startFault.value = fault
    return
  }
  const before = me.peek()
  const now = data?.me ?? null
  if (before && !now) hasEnded.value = true
  else {
    hasEnded.value = false
    me.value = now
    if (before && now && before.id !== now.id) {
      forgetAnswers()
      go('/')
    }
  }
  if (now) startFault.value = undefined
}

export interface Credentials {
  email: string
  password: string
  code?: string
}

/** The fault, where it was refused. */
export async function signIn(credentials: Credentials | { welcome: string }): Promise<Fault | undefined> {
  const fault = await ask('POST', credentials)
  if (fault) return fault
  forgetAnswers()
  await learnMe()
  tabs.postMessage('in')
  return undefined
}

export async function signOut(): Promise<void> {
  isLeaving = true
  await ask('DELETE')
  isLeaving = false
  forgetAnswers()
  hasEnded.value = false
  me.value = null
  tabs.postMessage('out')
  go('/', { replace: true })
}

/** After a change of one's own account. */
export const refreshMe = learnMe

async function ask(method: string, body?: object): Promise<Fault | undefined> {
  try {
    const response = await fetch('/session', {
      method,
      headers: { 'X-Assay-Request': 'dashboard', ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return response.ok ? undefined : faultOfBody(await response.json())
  } catch (error) {
    return faultOf(error)
  }
}

refusedSession.subscribe((count) => {
  if (count > 0 && me.peek() && !isLeaving) hasEnded.value = true
})
