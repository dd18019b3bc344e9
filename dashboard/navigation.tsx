import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Button } from './components/button.js'
import { Icon } from './components/icon.js'
import { isPaletteOpen } from './palette-host.js'
import { path } from './router.js'
import { me, signOut } from './session.js'
import { texts } from './texts.js'
import { type Theme, theme, themes } from './theme.js'
import { getVisibleViews, groups, preloadView } from './views.js'

/** Sidebar with pages, search and current user. Narrow screens show a menu instead. */
export function Navigation() {
  const isOpen = useSignal(false)
  useEffect(() => {
    isOpen.value = false
  }, [path.value])
  return (
    <aside class={`sidebar${isOpen.value ? ' open' : ''}`}>
      <div class="brand">
        <a href="/" aria-label={`${texts.product}: ${texts.nav.overview}`}>
          <Logo />
          {texts.product}
        </a>
        <span class="menu">
          <Button
            icon={isOpen.value ? 'close' : 'menu'}
            kind="quiet"
            label={texts.nav.menu}
            onClick={() => (isOpen.value = !isOpen.value)}
          />
        </span>
      </div>
      <div class="drawer">
        <SearchButton />
        <NavigationLinks />
        <div class="sidebar-footer">
          <a href="/docs" target="_blank" rel="noopener">
            <Icon name="book" />
            {texts.nav.docs}
          </a>
          <ThemeSelect />
          <CurrentUser />
        </div>
      </div>
    </aside>
  )
}

/** Links to the overview and to the pages that the user may open, in groups. */
function NavigationLinks() {
  const views = getVisibleViews()
  return (
    <nav aria-label={texts.nav.main}>
      {views
        .filter(({ group }) => !group)
        .map((view) => (
          <PageLink key={view.name} view={view} />
        ))}
      {groups
        .map((group) => [group, views.filter((view) => view.group === group)] as const)
        .filter(([, members]) => members.length > 0)
        .map(([group, members]) => (
          <section key={group} aria-labelledby={`group-${group}`}>
            <h2 id={`group-${group}`}>{texts.nav.groups[group]}</h2>
            {members.map((view) => (
              <PageLink key={view.name} view={view} />
            ))}
          </section>
        ))}
    </nav>
  )
}

const PageLink = ({ view: { name, title, icon } }: { view: ReturnType<typeof getVisibleViews>[number] }) => (
  <a
    href={`/${name}`}
    aria-current={isCurrentPage(name) ? 'page' : undefined}
    onPointerEnter={() => preloadView(`/${name}`)}
    onFocus={() => preloadView(`/${name}`)}
  >
    <Icon name={icon} />
    {title}
  </a>
)

const isCurrentPage = (name: string) => path.value.split('/')[1] === name

export const Logo = () => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
    <rect width="24" height="24" rx="6" />
    <path d="M7 17.500L12 6l5 11.500M9 13.500h6" />
  </svg>
)

/** Button that opens the palette. It looks like the search field that users expect. */
const SearchButton = () => (
  <button type="button" class="search" aria-keyshortcuts="Control+K Meta+K" onClick={() => (isPaletteOpen.value = true)}>
    <Icon name="search" />
    {texts.nav.search}
    <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
  </button>
)

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

const ThemeSelect = () => (
  <label class="theme">
    <Icon name="sun" />
    <span class="hidden">{texts.nav.theme}</span>
    <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
      {themes.map((name) => (
        <option key={name} value={name} selected={name === theme.value}>
          {texts.nav.themes[name]}
        </option>
      ))}
    </select>
  </label>
)

const CurrentUser = () => (
  <div class="current-user">
    <a href="/account" aria-current={isCurrentPage('account') ? 'page' : undefined}>
      <Icon name="person" />
      <span>
        <strong>{me.value?.name}</strong>
        <small>{me.value?.email}</small>
      </span>
    </a>
    <Button icon="out" kind="quiet" label={texts.nav.signOut} onClick={signOut} />
  </div>
)
