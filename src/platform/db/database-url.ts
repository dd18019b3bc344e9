/** Connection URLs of a database. The two differ only if `url` points to a pooler in transaction mode. */
export interface DatabaseUrls {
  url: string
  /** URL for operations that need a session: LISTEN, advisory locks, migrations and exports. */
  directUrl: string
}

/** Converts a PostgreSQL URL to a form that every parser accepts. Returns undefined if the text is not a PostgreSQL URL. */
export function parseDatabaseUrl(text: string): string | undefined {
  // Google documents URLs without a host, such as postgresql://user:password@/db?host=/cloudsql/…, which `URL` rejects.
  const url = URL.canParse(text) ? text : text.replace('@/', '@localhost/')
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) return undefined
  return url
}

/** Returns a URL's user, host and database for logs, without the password or options. */
export function redactDatabaseUrl(url: string): string {
  const { username, host, pathname, searchParams } = new URL(url)
  const folder = searchParams.get('host')
  return `${username ? `${username}@` : ''}${folder ? `a local socket in ${folder}` : host || 'a local socket'}${pathname}`
}
