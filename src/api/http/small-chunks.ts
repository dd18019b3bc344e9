import type { IncomingMessage } from 'node:http'

const small = 4_096
const blockBytes = 16_384
// What the parser does for a chunk costs a microsecond or two: a megabyte of one-byte chunks would hold the process for seconds.
const mostTiny = 16_384
const tiny = 32

/**
 * Joins the small chunks of a request's body that come in one turn of the event loop. The parser makes a Buffer of each chunk of a
 * chunked body: one-byte chunks would cost a hundred times their bytes before any reader sees them. A client that sends thousands of
 * them is cut off: no program that means well does.
 */
export function joinSmallChunks(request: IncomingMessage): void {
  const push = request.push.bind(request)
  let block: Buffer | undefined
  let used = 0
  let tinyChunks = 0
  const flush = () => {
    if (!block) return
    const bytes = block.subarray(0, used)
    block = undefined
    used = 0
    push(bytes)
  }
  const join = (chunk: Buffer | null) => {
    if (chunk === null || chunk.length >= small) {
      flush()
      return push(chunk)
    }
    if (chunk.length < tiny && ++tinyChunks > mostTiny) {
      request.socket.destroy()
      return false
    }
    if (used + chunk.length > blockBytes) flush()
    if (!block) {
      block = Buffer.allocUnsafe(blockBytes)
      setImmediate(flush)
    }
    used += chunk.copy(block, used)
    return request.readableLength + used < request.readableHighWaterMark
  }
  // On the request itself: Express gives it another prototype.
  request.push = join
}
