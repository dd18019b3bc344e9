// jsonb takes neither NUL nor half a surrogate pair, though both are valid in JSON's text.
const refused = /\\u0000|\\ud[89a-f]/i

/** JSON that PostgreSQL's jsonb takes: what it refuses inside strings becomes U+FFFD. Input that is to be kept exactly is refused earlier. */
export function databaseJson(value: unknown): string {
  const json = JSON.stringify(value)
  return refused.test(json)
    ? JSON.stringify(value, (_key, inner) =>
        typeof inner === 'string' ? inner.toWellFormed().replaceAll('\0', '\ufffd') : inner,
      )
    : json
}

/** True where jsonb would keep the value exactly. */
export const isStorable = (value: unknown): boolean => {
  let storable = true
  JSON.stringify(value, (key, inner) => {
    if (key.includes('\0') || !key.isWellFormed()) storable = false
    // Such as 1e400, which JSON.parse takes for Infinity and JSON has no word for.
    if (typeof inner === 'number' && !Number.isFinite(inner)) storable = false
    if (typeof inner === 'string' && (inner.includes('\0') || !inner.isWellFormed())) storable = false
    return inner
  })
  return storable
}
