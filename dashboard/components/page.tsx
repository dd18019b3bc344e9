import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { texts } from '../texts.js'
import { Icon } from './icon.js'

interface Props {
  title: string
  description?: ComponentChildren
  parent?: { href: string; title: string }
  actions?: ComponentChildren
  children: ComponentChildren
}

/** Page layout with title, actions and content. The title is also the document title. */
export function Page({ title, description, parent, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`
  }, [title])
  return (
    <main class="page" id="main" tabIndex={-1}>
      <header class="page-head">
        <div>
          {parent && (
            <a class="parent" href={parent.href}>
              <Icon name="back" />
              {parent.title}
            </a>
          )}
          <h1>{title}</h1>
          {description && <p class="description">{description}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </main>
  )
}
