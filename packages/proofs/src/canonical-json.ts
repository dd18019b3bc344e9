/**
 * Serializes a value as canonical JSON (RFC 8785): sorted members, no whitespace, numbers and strings as in ECMAScript. Replaces
 * NUL and unpaired surrogates, which PostgreSQL cannot store in text, with U+FFFD.
 */
export function toCanonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(replaceInvalidCharacters(value))
  if (typeof value === 'bigint') return String(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (value instanceof Date) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(replaceInvalidCharacters(name))}:${toCanonicalJson(member)}`).join(',')}}`
}

const replaceInvalidCharacters = (text: string): string =>
  /[\0\ud800-\udfff]/.test(text) ? text.toWellFormed().replaceAll('\0', '\ufffd') : text
