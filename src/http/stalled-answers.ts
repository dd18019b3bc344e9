import type { ServerResponse } from 'node:http'

const usualMs = 60_000

/**
 * Drops a client that takes nothing of what waits for it: without that, an answer that is not read holds its bytes and its socket for
 * ever. A socket on which nothing moves because there is nothing to send is left alone.
 */
export function dropWhereStalled(response: ServerResponse, stalledMs = usualMs): void {
  response.setTimeout(stalledMs, () => {
    if (response.socket && response.socket.writableLength > 0) response.destroy()
  })
}
