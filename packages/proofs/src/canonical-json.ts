/**
 * JSON in its one canonical form (RFC 8785): members in the order of their names, no blanks, numbers and strings as ECMAScript writes
 * them. What no text of PostgreSQL holds (NUL, half a surrogate pair) becomes U+FFFD, as everywhere in the database.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(replaceInvalidCharacters(value))
  if (typeof value === 'bigint') return String(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (value instanceof Date) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(replaceInvalidCharacters(name))}:${canonicalJson(member)}`).join(',')}}`
}

const replaceInvalidCharacters = (text: string): string =>
  /[\0\ud800-\udfff]/.test(text) ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
