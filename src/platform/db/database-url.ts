/** Where a database is reached, and where its sessions are: the same, but behind a pooler in transaction mode. */
export interface DatabaseUrls {
  url: string
  /** For what needs a session of its own: LISTEN, advisory locks, migrations, exports. */
  directUrl: string
}

/** The URL in a form that every reader takes; undefined where it is no PostgreSQL URL. */
export function databaseUrlOf(text: string): string | undefined {
  // postgresql://user:password@/db?host=/cloudsql/…, as Google writes it, is no URL to WHATWG; `host` wins over the authority.
  const url = URL.canParse(text) ? text : text.replace('@/', '@localhost/')
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) return undefined
  return url
}

/** A database URL as it may be shown: user, host and database, no password and no options. */
export function withoutSecrets(url: string): string {
  const { username, host, pathname, searchParams } = new URL(url)
  const folder = searchParams.get('host')
  return `${username ? `${username}@` : ''}${folder ? `a local socket in ${folder}` : host || 'a local socket'}${pathname}`
}
