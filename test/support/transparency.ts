import { createHash } from 'node:crypto'

const computeSha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()

/** Returns the root of a log with these leaves, as defined in RFC 6962 (2.1). */
export function computeTreeHash(leaves: Buffer[]): Buffer {
  if (leaves.length === 0) return computeSha256()
  if (leaves.length === 1) return leaves[0]!
  let half = 1
  while (half * 2 < leaves.length) half *= 2
  return computeSha256(Buffer.of(1), computeTreeHash(leaves.slice(0, half)), computeTreeHash(leaves.slice(half)))
}
