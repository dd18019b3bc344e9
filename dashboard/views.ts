import type { ComponentType } from 'preact'
import type { IconName } from './components/icon.js'
import { Account } from './pages/account.js'
import { Audit } from './pages/audit.js'
import { Calls } from './pages/calls.js'
import { ContextPage } from './pages/context.js'
import { Contexts } from './pages/contexts.js'
import { FilePage } from './pages/file.js'
import { Files } from './pages/files.js'
import { Health } from './pages/health.js'
import { Keys } from './pages/keys.js'
import { Overview } from './pages/overview.js'
import { Quarantine } from './pages/quarantine.js'
import { Trash } from './pages/trash.js'
import { Users } from './pages/users.js'
import { ValidateFile } from './pages/validate-file.js'
import { WebhookPage } from './pages/webhook.js'
import { Webhooks } from './pages/webhooks.js'
import { hasScope, type Scope } from './session.js'
import { texts } from './texts.js'

interface View {
  /** First segment of the path. Empty for the overview. */
  name:
    | ''
    | 'files'
    | 'try'
    | 'contexts'
    | 'keys'
    | 'calls'
    | 'quarantine'
    | 'audit'
    | 'webhooks'
    | 'trash'
    | 'users'
    | 'health'
    | 'account'
  title: string
  icon: IconName
  /** The navigation shows the view if the user has at least one of these scopes. */
  scopes?: readonly Scope[]
  Page: ComponentType<{ id: string }>
  /** Page of one object, by id or key. */
  Detail?: ComponentType<{ id: string }>
}

const allViews: readonly View[] = [
  { name: '', title: texts.nav.overview, icon: 'overview', scopes: ['metadata'], Page: Overview },
  { name: 'files', title: texts.nav.files, icon: 'files', scopes: ['metadata', 'upload'], Page: Files, Detail: FilePage },
  { name: 'try', title: texts.nav.validate, icon: 'try', scopes: ['upload'], Page: ValidateFile },
  { name: 'contexts', title: texts.nav.contexts, icon: 'contexts', Page: Contexts, Detail: ContextPage },
  { name: 'keys', title: texts.nav.keys, icon: 'keys', scopes: ['admin'], Page: Keys },
  { name: 'calls', title: texts.nav.calls, icon: 'calls', scopes: ['metadata'], Page: Calls },
  { name: 'quarantine', title: texts.nav.quarantine, icon: 'quarantine', scopes: ['admin'], Page: Quarantine },
  { name: 'audit', title: texts.nav.audit, icon: 'audit', scopes: ['admin'], Page: Audit },
  { name: 'webhooks', title: texts.nav.webhooks, icon: 'webhooks', scopes: ['admin'], Page: Webhooks, Detail: WebhookPage },
  { name: 'trash', title: texts.nav.trash, icon: 'trash', scopes: ['delete'], Page: Trash },
  { name: 'users', title: texts.nav.users, icon: 'users', scopes: ['admin'], Page: Users },
  { name: 'health', title: texts.nav.health, icon: 'health', Page: Health },
]

const account: View = { name: 'account', title: texts.nav.account, icon: 'person', Page: Account }

/** Returns the views that the user may see, in the order of the navigation. */
export const getVisibleViews = (): View[] => allViews.filter(({ scopes }) => !scopes || scopes.some(hasScope))

/** Returns the component for a path, and the id in the path. Undefined if the user may not see such a page. */
export function findView(path: string): { View: ComponentType<{ id: string }>; id: string } | undefined {
  const [, name = '', id, ...rest] = path.split('/')
  const visible = getVisibleViews()
  // Users without access to the overview start on their first accessible page.
  const view = [...visible, account].find((each) => each.name === name) ?? (path === '/' ? visible[0] : undefined)
  if (!view || rest.length > 0) return undefined
  if (!id) return { View: view.Page, id: '' }
  return view.Detail && { View: view.Detail, id: decodeURIComponent(id) }
}
