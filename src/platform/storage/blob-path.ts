/** Path prefix of internal objects, such as those that readiness probes write. `list` omits these objects. */
export const reservedPrefix = '.assay/'

/** Throws if a store cannot use `path`, which indicates a bug: https://cloud.google.com/storage/docs/objects#naming */
export function assertBlobPath(path: string): void {
  const problem = findPathProblem(path)
  if (problem) throw new TypeError(`'${path}' is not a valid blob path: ${problem}.`)
}

/** True if a store can use the path. Objects that other programs stored may have unusable paths. */
export const isBlobPath = (path: string): boolean => findPathProblem(path) === undefined

function findPathProblem(path: string): string | undefined {
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'it contains control characters or unpaired surrogates'
  if (Buffer.byteLength(path) > 900) return 'it is longer than 900 bytes'
  if (path.startsWith(reservedPrefix)) return `'${reservedPrefix}' is reserved`
  if (path.startsWith('.well-known/acme-challenge/')) return 'object stores do not allow this prefix'
  for (const segment of path.split('/')) {
    if (segment === '') return 'it has an empty segment'
    if (segment === '.' || segment === '..') return `'${segment}' is not a valid segment`
    if (Buffer.byteLength(segment) > 200) return 'a segment is longer than 200 bytes'
  }
  return undefined
}

/** Compares paths by their UTF-8 bytes, like buckets and PostgreSQL. `<` orders characters above U+FFFF differently. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (left !== right) return toCodePointOrder(left) - toCodePointOrder(right)
  }
  return a.length - b.length
}

// Surrogates represent code points above those of all other code units, so they must sort last.
const toCodePointOrder = (codeUnit: number) =>
  codeUnit < 0xd800 ? codeUnit : codeUnit < 0xe000 ? codeUnit + 0x2000 : codeUnit - 0x800
