import { isIP } from 'node:net'
import type { Request } from 'express'

/**
 * Where a request comes from, as far as TRUST_PROXY lets a header say so. Only an address counts, without the port that some proxies
 * add to it: a client that sends its own header must not choose another name for every request.
 */
export function clientAddress(request: Request): string {
  const claimed = (request.ip ?? '').replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  return isIP(claimed) ? claimed : (request.socket.remoteAddress ?? '')
}
