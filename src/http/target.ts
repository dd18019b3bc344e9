/**
 * The path and the query of a request, as they came. `new URL` would resolve `..` in it, so that one path would be matched and
 * another served, and read `//host/path` as a host.
 */
export function targetOf(request: { originalUrl: string }): { path: string; query: URLSearchParams } {
  const { originalUrl } = request
  const mark = originalUrl.indexOf('?')
  return mark < 0
    ? { path: originalUrl, query: new URLSearchParams() }
    : { path: originalUrl.slice(0, mark), query: new URLSearchParams(originalUrl.slice(mark + 1)) }
}

/** An absolute target (RFC 9112 §3.2.2) as a path: whatever host it names, it means us. */
export const originForm = (target: string | undefined): string => target?.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '') || '/'
