import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How a server ends. */
export interface Draining {
  /** Calls under way finish for so long at most, then their connections are cut. */
  graceMs: number
  /** Kept connections stay for so long after their last answer, for a client that is just about to use one. */
  lingerMs: number
}

export interface Drain {
  /** From here on each answer says that its connection closes with it: who calls again takes another, to where the balancer leads by then. */
  announce: () => void
  /** No new connections; what was not used for a while is closed. */
  end: (how: Draining) => Promise<void>
}

/** Makes a server able to end without failing a call. */
export function drainable(server: Server): Drain {
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
  const announce = () => {
    draining = true
    for (const response of underWay) if (!response.headersSent) response.shouldKeepAlive = false
  }
  const end = async ({ graceMs, lingerMs }: Draining) => {
    announce()
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
  return { announce, end }
}
