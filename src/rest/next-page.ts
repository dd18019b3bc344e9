import { cursorOf, mostPages } from '../graphql/page.js'
import type { Route } from './routes.js'

interface Listed {
  data: Record<string, string | number>[]
  pagination: { page: number; has_next: boolean }
}

/** The link (RFC 8288) from a page of a list to the next, which begins behind this one's last item; none where nothing follows. */
export function nextPage(route: Route, target: { path: string; query: URLSearchParams }, answer: unknown): string | undefined {
  if (route.listedBy === undefined) return undefined
  const { data, pagination } = answer as Listed
  const last = data.at(-1)
  if (!pagination.has_next || last === undefined) return undefined
  const query = new URLSearchParams(target.query)
  const sort = route.sortedBy?.(target.query)
  query.set('page', String(Math.min(pagination.page + 1, mostPages)))
  query.set('after', cursorOf(String(last[route.listedBy]), sort ? { sort, key: String(last[sort]) } : undefined))
  return `<${target.path}?${query}>; rel="next"`
}
