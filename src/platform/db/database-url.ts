/** URLs of a database. They differ only for a pooler in transaction mode. */
export interface DatabaseUrls {
  url: string
  /** URL for uses that need a session: LISTEN, advisory locks, migrations and exports. */
  directUrl: string
}

/** Returns the URL in a form that every parser accepts. Undefined if it is not a PostgreSQL URL. */
export function parseDatabaseUrl(text: string): string | undefined {
  // postgresql://user:password@/db?host=/cloudsql/…, as in Google's documentation, is not a WHATWG URL. `host` overrides the authority.
  const url = URL.canParse(text) ? text : text.replace('@/', '@localhost/')
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) return undefined
  return url
}

/** Describes a database URL for logs: user, host and database, without password and options. */
export function withoutSecrets(url: string): string {
  const { username, host, pathname, searchParams } = new URL(url)
  const folder = searchParams.get('host')
  return `${username ? `${username}@` : ''}${folder ? `a local socket in ${folder}` : host || 'a local socket'}${pathname}`
}
