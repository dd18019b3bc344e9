import type { IncomingMessage } from 'node:http'
import type { FieldFault } from '../../platform/errors/errors.js'

/** What a proxy before us may have read in another way: one request to it, another one to us. */
export function framingFault({ rawHeaders, headers, httpVersion }: IncomingMessage): FieldFault | undefined {
  // RFC 9112 §3.2. Node's own check is off, because it answers with nothing at all.
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  if (hosts > 1) return { field: 'Host', message: 'must be sent once' }
  if (hosts === 0 && httpVersion === '1.1') return { field: 'Host', message: 'must be sent' }
  // RFC 9112 §6.1: HTTP/1.0 knows no chunks, and a proxy of that age passes them on as the next request.
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return { field: 'Transfer-Encoding', message: 'must not be sent with HTTP/1.0' }
  return undefined
}
