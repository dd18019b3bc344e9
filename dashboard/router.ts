import { computed, signal } from '@preact/signals'

const currentAddress = signal(location.pathname + location.search)
addEventListener('popstate', () => {
  currentAddress.value = location.pathname + location.search
})

/** The view that is shown, as its address says it. */
export const path = computed(() => new URL(currentAddress.value, location.origin).pathname)

/** The view's filters: they stand in the address, so that a link shares them. */
export const query = computed(() => new URL(currentAddress.value, location.origin).searchParams)

export function navigate(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  currentAddress.value = address
  if (!replace) scrollTo(0, 0)
}

/** Changes some filters; what is empty leaves the address. A list then begins anew, unless its place is what changes. */
export function setQuery(changes: Record<string, string | null | undefined>, { replace = false } = {}): void {
  const next = new URLSearchParams(query.value)
  for (const cursor of ['after', 'before']) next.delete(cursor)
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  const text = next.toString()
  navigate(text ? `${path.value}?${text}` : path.value, { replace })
}

/** The part of a list that the address names. */
export function getCursorArguments(size = 25) {
  const [after, before] = [query.value.get('after'), query.value.get('before')]
  return before ? { last: size, before } : { first: size, after }
}

/** Links to our own views change the view; everything else is the browser's. */
export function interceptLinkClicks(): void {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return
    if (link.origin !== location.origin || !isDashboardPath(link.pathname)) return
    event.preventDefault()
    navigate(link.pathname + link.search)
  })
}

const isDashboardPath = (pathname: string) => !/^\/(docs|graphql|api|download|health\/)/.test(pathname)
