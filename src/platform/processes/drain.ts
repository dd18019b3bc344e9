import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

export interface DrainOptions {
  /** Maximum time for calls in progress, after which the server closes their connections. */
  graceMs: number
  /** Time that an idle connection stays open after its last response, because the client may be about to send a request. */
  lingerMs: number
}

const maxTurns = 200
const idleTurnMs = 0.5

/** Waits until the event loop has accepted all pending connections, because closing the server would reset them. */
async function acceptPendingConnections(): Promise<void> {
  for (let turn = 0; turn < maxTurns; turn++) {
    const from = performance.now()
    await nextTurn()
    if (performance.now() - from < idleTurnMs) return
  }
}

/** Returns a function that makes the server accept no new connections and close each open connection after its response. */
export function createDrainFunction(server: Server): (options: DrainOptions) => Promise<void> {
  const activeResponses = new Set<ServerResponse>()
  let lastKeptAliveAt = 0
  let isDraining = false
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (isDraining) response.shouldKeepAlive = false
    activeResponses.add(response)
    response.once('close', () => {
      activeResponses.delete(response)
      if (response.shouldKeepAlive) lastKeptAliveAt = performance.now()
    })
  })
  return async ({ graceMs, lingerMs }) => {
    isDraining = true
    for (const response of activeResponses) if (!response.headersSent) response.shouldKeepAlive = false
    await acceptPendingConnections()
    const from = performance.now()
    // Close only the listening socket. Closing the HTTP server would also close idle connections, even if a request is on its way.
    const closed = new Promise<boolean>((resolve) => NetServer.prototype.close.call(server, () => resolve(true)))
    for (;;) {
      if (performance.now() - Math.max(from, lastKeptAliveAt) >= lingerMs) server.closeIdleConnections()
      if (await Promise.race([closed, sleep(100, false)])) break
      if (performance.now() - from > graceMs) server.closeAllConnections()
    }
    // The socket is already closed. This call only stops the HTTP server's timer for checking connections.
    server.close()
  }
}
