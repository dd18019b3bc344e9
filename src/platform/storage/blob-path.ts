/** Objects of Assay's own beside the blobs (readiness probes): never listed, never put. */
export const reservedPrefix = '.assay/'

/**
 * Throws where `path` is not one that every store can keep: the limits are those of a bucket
 * (https://cloud.google.com/storage/docs/objects#naming) and of a file system's names, whichever is smaller.
 * Paths are Assay's own, so a bad one is a fault of the program, not of a caller: a plain error.
 */
export function assertBlobPath(path: string): void {
  const problem = pathProblem(path)
  if (problem) throw new TypeError(`'${path}' is not a valid blob path: ${problem}.`)
}

function pathProblem(path: string): string | undefined {
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'it contains control characters or unpaired surrogates'
  if (Buffer.byteLength(path) > 900) return 'it is longer than 900 bytes'
  if (path.startsWith(reservedPrefix)) return `'${reservedPrefix}' is reserved`
  if (path.startsWith('.well-known/acme-challenge/')) return 'buckets reject that prefix'
  for (const segment of path.split('/')) {
    if (segment === '') return 'it has an empty segment'
    if (segment === '.' || segment === '..') return `'${segment}' is not a valid segment`
    if (Buffer.byteLength(segment) > 200) return 'a segment is longer than 200 bytes'
  }
  return undefined
}

/** Orders paths by their UTF-8 bytes, as buckets list them and PostgreSQL's collation "C" sorts them; JavaScript's `<` differs beyond U+FFFF. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (left !== right) return byCodePoint(left) - byCodePoint(right)
  }
  return a.length - b.length
}

// Surrogates stand for what comes after every other code unit.
const byCodePoint = (unit: number) => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
