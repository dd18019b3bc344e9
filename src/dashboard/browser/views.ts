import type { ComponentType } from 'preact'
import type { IconName } from './components/icon.js'
import { Files } from './pages/files.js'
import { may, type Scope } from './session.js'
import { texts } from './texts.js'

interface View {
  /** The first part of its address; the overview has none. */
  name: '' | 'files' | 'try' | 'contexts' | 'keys' | 'calls' | 'audit' | 'users' | 'health' | 'account'
  title: string
  icon: IconName
  /** Who lacks it is not shown the way there. */
  scope?: Scope
  Page: ComponentType<{ id: string }>
  /** Of one thing, by its id or key. */
  Detail?: ComponentType<{ id: string }>
}

const all: readonly View[] = [{ name: 'files', title: texts.nav.files, icon: 'files', scope: 'metadata', Page: Files }]

/** Those that the user may see, in the order of the navigation. */
export const views = (): View[] => all.filter(({ scope }) => !scope || may(scope))

/** What an address shows: a view, or one thing in it. */
export function viewOf(path: string): { View: ComponentType<{ id: string }>; id: string } | undefined {
  const [, name = '', id, ...rest] = path.split('/')
  const view = views().find((each) => each.name === name)
  if (!view || rest.length > 0) return undefined
  if (!id) return { View: view.Page, id: '' }
  return view.Detail && { View: view.Detail, id: decodeURIComponent(id) }
}
