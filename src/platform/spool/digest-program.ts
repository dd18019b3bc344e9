import { createHash, type Hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'

/** The next bytes of a digest, or that it is to be told, or dropped. Each is answered, in the order in which they come. */
export type DigestStep = { of: number } & ({ bytes: Uint8Array } | { end: 'tell' | 'drop' })

const hashes = new Map<number, Hash>()

function step(asked: DigestStep): string | undefined {
  const hash = hashes.get(asked.of) ?? createHash('sha256')
  if ('bytes' in asked) {
    hashes.set(asked.of, hash.update(asked.bytes))
    return undefined
  }
  hashes.delete(asked.of)
  return asked.end === 'tell' ? hash.digest('hex') : undefined
}

parentPort!.on('message', (asked: DigestStep) => parentPort!.postMessage(step(asked)))
