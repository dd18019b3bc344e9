import { createHash } from 'node:crypto'

/** Range of leaf indexes. `from` is inclusive, and `to` is exclusive. */
export interface Range {
  from: number
  to: number
}

/** Sibling subtree on the path from a leaf to the root. */
interface Sibling extends Range {
  isLeft: boolean
}

/** Run of `count` adjacent stored hashes that starts at index `place`. Each hash is the root of 256^level leaves. */
export interface StoredHashes {
  level: number
  place: number
  count: number
}

const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)

/** Returns the leaf hash of an entry (RFC 6962, section 2.1). */
export const hashLeaf = (entry: string | Buffer): Buffer => createHash('sha256').update(leafPrefix).update(entry).digest()

const hashNode = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update(nodePrefix).update(left).update(right).digest()

/** Computes the root of a tree from the roots of its complete subtrees, largest subtree first. */
export function computeRoot(subtrees: readonly Buffer[]): Buffer {
  const last = subtrees.at(-1)
  if (!last) return createHash('sha256').digest()
  return subtrees.slice(0, -1).reduceRight((root, subtree) => hashNode(subtree, root), last)
}

/** Computes the root of a complete subtree from 2^n adjacent hashes. */
export function computeCompleteSubtreeRoot(hashes: readonly Buffer[]): Buffer {
  let row = hashes
  while (row.length > 1) row = Array.from({ length: row.length / 2 }, (_, at) => hashNode(row[2 * at]!, row[2 * at + 1]!))
  return row[0]!
}

/** Returns the sibling subtrees of an inclusion proof, from the leaf to the root (RFC 6962, section 2.1.1). */
export function getSiblingSubtrees(index: number, size: number): Sibling[] {
  const siblings: Sibling[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + getLargestPowerOfTwoBelow(to - from)
    const isLeft = index >= middle
    siblings.push(isLeft ? { from, to: middle, isLeft } : { from: middle, to, isLeft })
    if (isLeft) from = middle
    else to = middle
  }
  return siblings.reverse()
}

/** Computes the root from an inclusion proof. Returns undefined if the proof length does not match the index and size. */
export function computeRootFromProof(leaf: Buffer, { index, size }: { index: number; size: number }, proof: readonly Buffer[]) {
  if (!(index >= 0 && index < size)) return undefined
  const siblings = getSiblingSubtrees(index, size)
  if (siblings.length !== proof.length) return undefined
  return siblings.reduce((hash, { isLeft }, at) => (isLeft ? hashNode(proof[at]!, hash) : hashNode(hash, proof[at]!)), leaf)
}

/** Returns the stored hashes that determine the root of a range: one run per complete subtree, largest first. */
export function getStoredHashes({ from, to }: Range): StoredHashes[] {
  const runs: StoredHashes[] = []
  for (let at = from; at < to; ) {
    const size = getLargestPowerOfTwoBelow(to - at + 1)
    const level = Math.floor(Math.log2(size) / 8)
    const width = 256 ** level
    runs.push({ level, place: at / width, count: size / width })
    at += size
  }
  return runs
}

function getLargestPowerOfTwoBelow(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}
