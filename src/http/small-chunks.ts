import type { IncomingMessage } from 'node:http'

const small = 4_096
const blockBytes = 16_384

/**
 * Joins the small chunks of a request's body that come in one turn of the event loop. The parser makes a Buffer of each chunk of a
 * chunked body: one-byte chunks would cost a hundred times their bytes before any reader sees them.
 */
export function joinSmallChunks(request: IncomingMessage): void {
  const push = request.push.bind(request)
  let block: Buffer | undefined
  let used = 0
  const flush = () => {
    if (!block) return
    const bytes = block.subarray(0, used)
    block = undefined
    used = 0
    push(bytes)
  }
  // On the request itself: Express gives it another prototype.
  request.push = (chunk: Buffer | null) => {
    if (chunk === null || chunk.length >= small) {
      flush()
      return push(chunk)
    }
    if (used + chunk.length > blockBytes) flush()
    if (!block) {
      block = Buffer.allocUnsafe(blockBytes)
      setImmediate(flush)
    }
    used += chunk.copy(block, used)
    return request.readableLength + used < request.readableHighWaterMark
  }
}
