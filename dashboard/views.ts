import type { ComponentType } from 'preact'
import type { IconName } from './components/icon.js'
import { createLazyPage, type LazyPage } from './lazy-page.js'
import { hasScope, type Scope } from './session.js'
import { texts } from './texts.js'

const t = texts.nav

export const groups = ['data', 'access', 'operations', 'proof'] as const
type Group = (typeof groups)[number]

interface View {
  /** First segment of the path. Empty for the overview. */
  name: string
  title: string
  icon: IconName
  /** Navigation group. Undefined for the overview, which is above the groups, and for the account page. */
  group?: Group
  /** Scopes that allow the user to open the view. One of them is sufficient. If undefined, no scope is required. */
  scopes?: readonly Scope[]
  Page: LazyPage
  /** Page for a single object. The path contains the object's id or key. */
  Detail?: LazyPage
}

const allViews: readonly View[] = [
  {
    name: '',
    title: t.overview,
    icon: 'overview',
    scopes: ['metadata'],
    Page: createLazyPage(async () => (await import('./pages/overview.js')).Overview),
  },
  {
    name: 'files',
    title: t.files,
    icon: 'files',
    group: 'data',
    scopes: ['metadata', 'upload'],
    Page: createLazyPage(async () => (await import('./pages/files.js')).Files),
    Detail: createLazyPage(async () => (await import('./pages/file.js')).FilePage),
  },
  {
    name: 'try',
    title: t.validate,
    icon: 'try',
    group: 'data',
    scopes: ['upload'],
    Page: createLazyPage(async () => (await import('./pages/validate-file.js')).ValidateFile),
  },
  {
    name: 'contexts',
    title: t.contexts,
    icon: 'contexts',
    group: 'data',
    Page: createLazyPage(async () => (await import('./pages/contexts.js')).Contexts),
    Detail: createLazyPage(async () => (await import('./pages/context.js')).ContextPage),
  },
  {
    name: 'trash',
    title: t.trash,
    icon: 'trash',
    group: 'data',
    scopes: ['delete'],
    Page: createLazyPage(async () => (await import('./pages/trash.js')).Trash),
  },
  {
    name: 'keys',
    title: t.keys,
    icon: 'keys',
    group: 'access',
    scopes: ['admin'],
    Page: createLazyPage(async () => (await import('./pages/keys.js')).Keys),
  },
  {
    name: 'links',
    title: t.links,
    icon: 'link',
    group: 'access',
    scopes: ['upload'],
    Page: createLazyPage(async () => (await import('./pages/links.js')).Links),
  },
  {
    name: 'users',
    title: t.users,
    icon: 'users',
    group: 'access',
    scopes: ['admin'],
    Page: createLazyPage(async () => (await import('./pages/users.js')).Users),
  },
  {
    name: 'calls',
    title: t.calls,
    icon: 'calls',
    group: 'operations',
    scopes: ['metadata'],
    Page: createLazyPage(async () => (await import('./pages/calls.js')).Calls),
  },
  {
    name: 'quarantine',
    title: t.quarantine,
    icon: 'quarantine',
    group: 'operations',
    scopes: ['admin'],
    Page: createLazyPage(async () => (await import('./pages/quarantine.js')).Quarantine),
  },
  {
    name: 'webhooks',
    title: t.webhooks,
    icon: 'webhooks',
    group: 'operations',
    scopes: ['admin'],
    Page: createLazyPage(async () => (await import('./pages/webhooks.js')).Webhooks),
    Detail: createLazyPage(async () => (await import('./pages/webhook.js')).WebhookPage),
  },
  {
    name: 'health',
    title: t.health,
    icon: 'health',
    group: 'operations',
    Page: createLazyPage(async () => (await import('./pages/health.js')).Health),
  },
  {
    name: 'proof',
    title: t.proof,
    icon: 'proof',
    group: 'proof',
    scopes: ['metadata'],
    Page: createLazyPage(async () => (await import('./pages/proof.js')).Proof),
  },
  {
    name: 'audit',
    title: t.audit,
    icon: 'audit',
    group: 'proof',
    scopes: ['admin'],
    Page: createLazyPage(async () => (await import('./pages/audit.js')).AuditLog),
  },
  {
    name: 'account',
    title: t.account,
    icon: 'person',
    Page: createLazyPage(async () => (await import('./pages/account.js')).Account),
  },
]

const isViewPermitted = ({ scopes }: View) => !scopes || scopes.some(hasScope)

/** Returns the views that the user may open, in navigation order and without the account page. */
export const getVisibleViews = (): View[] => allViews.filter((view) => isViewPermitted(view) && view.name !== 'account')

const findViewByPath = (path: string) => allViews.find(({ name }) => name === path.split('/')[1])

/** Returns the component and the id for a path, or undefined if the page is unknown or not permitted. */
export function findView(path: string): { View: ComponentType<{ id: string }>; id: string } | undefined {
  const [, , id, ...rest] = path.split('/')
  const named = findViewByPath(path)
  // Users without access to the overview start on the first page that they may open.
  const view = named && isViewPermitted(named) ? named : path === '/' ? getVisibleViews()[0] : undefined
  if (!view || rest.length > 0) return undefined
  if (!id) return { View: view.Page, id: '' }
  const decodedId = decodeSegment(id)
  return view.Detail && decodedId !== undefined ? { View: view.Detail, id: decodedId } : undefined
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Loads a page's code before the user opens the page. */
export function preloadView(path: string): void {
  const view = findViewByPath(path)
  const page = path.split('/')[2] ? view?.Detail : view?.Page
  // Ignore errors, because the page loads its code again when the user opens it, and then reports the error.
  void page?.preload().catch(() => {})
}
