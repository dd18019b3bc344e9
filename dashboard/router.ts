import { computed, signal } from '@preact/signals'

const currentAddress = signal(location.pathname + location.search)
addEventListener('popstate', () => {
  currentAddress.value = location.pathname + location.search
})

export const path = computed(() => new URL(currentAddress.value, location.origin).pathname)

/** Query parameters of the page. They include the filters, so that users can share a filtered list. */
export const query = computed(() => new URL(currentAddress.value, location.origin).searchParams)

export function navigate(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  currentAddress.value = address
  if (!replace) scrollTo(0, 0)
}

/** Changes query parameters and removes empty ones. Also removes the paging cursors unless `changes` sets them. */
export function updateQuery(changes: Record<string, string | null | undefined>, { replace = false } = {}): void {
  const next = new URLSearchParams(query.value)
  for (const cursor of ['after', 'before']) next.delete(cursor)
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  const text = next.toString()
  navigate(text ? `${path.value}?${text}` : path.value, { replace })
}

export function getCursorArguments(size = 25) {
  const [after, before] = [query.value.get('after'), query.value.get('before')]
  return before ? { last: size, before } : { first: size, after }
}

/** Opens links to dashboard pages without a page load. The browser handles all other links. */
export function interceptLinkClicks(): void {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
    const isPlainClick = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (!link || !isPlainClick || event.defaultPrevented || link.target || link.hasAttribute('download')) return
    if (link.origin !== location.origin || !isDashboardPath(link.pathname)) return
    event.preventDefault()
    navigate(link.pathname + link.search)
  })
}

const isDashboardPath = (pathname: string) => !/^\/(docs|graphql|api|download|health\/)/.test(pathname)
