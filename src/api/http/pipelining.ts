import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait for the answer before them. */
const mostWaiting = 64

/**
 * One request of a connection after the other. Node begins all that came at once: a thousand pipelined requests for a document
 * would hold a thousand answers in memory, which the client need not read. Who sends more than so many ahead is cut off.
 */
export function oneAfterTheOther(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>()
  return (request, response) => {
    const { socket } = request
    // What was parsed together with the request that went too far.
    if (socket.destroyed) return
    const line = waiting.get(socket)
    if (line && line.length >= mostWaiting) return void socket.destroy()
    const begin = () => {
      response.once('close', next)
      handle(request, response)
    }
    const next = () => {
      const following = socket.destroyed ? undefined : waiting.get(socket)?.shift()
      if (following) following()
      else waiting.delete(socket)
    }
    if (line) return void line.push(begin)
    waiting.set(socket, [])
    begin()
  }
}
