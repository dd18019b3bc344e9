import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** How a server ends. */
export interface Draining {
  /** Calls under way finish for so long at most, then their connections are cut. */
  graceMs: number
  /** Kept connections stay for so long after their last answer, for a client that is just about to use one. */
  lingerMs: number
}

const mostTurns = 200
const quietTurnMs = 0.5

/** Resolves right after the event loop took all connections that waited: those that wait while the door is shut are reset. */
async function allTaken(): Promise<void> {
  for (let turn = 0; turn < mostTurns; turn++) {
    const from = performance.now()
    await nextTurn()
    if (performance.now() - from < quietTurnMs) return
  }
}

/**
 * Makes a server able to end without failing a call; the function that is given ends it. No new connections first; each answer then says
 * that its connection closes with it, and what was not used for a while is closed.
 */
export function drainable(server: Server): (how: Draining) => Promise<void> {
  const underWay = new Set<ServerResponse>()
  let lastKept = 0
  let draining = false
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (draining) response.shouldKeepAlive = false
    underWay.add(response)
    response.once('close', () => {
      underWay.delete(response)
      if (response.shouldKeepAlive) lastKept = performance.now()
    })
  })
  return async ({ graceMs, lingerMs }) => {
    draining = true
    for (const response of underWay) if (!response.headersSent) response.shouldKeepAlive = false
    await allTaken()
    const from = performance.now()
    // Not the HTTP server's own close, which cuts kept connections at once, whatever is on its way to them.
    const closed = new Promise<boolean>((resolve) => NetServer.prototype.close.call(server, () => resolve(true)))
    for (;;) {
      if (performance.now() - Math.max(from, lastKept) >= lingerMs) server.closeIdleConnections()
      if (await Promise.race([closed, sleep(100, false)])) break
      if (performance.now() - from > graceMs) server.closeAllConnections()
    }
    // What is left of the HTTP server: its timer.
    server.close()
  }
}
