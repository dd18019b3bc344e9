import type { IncomingMessage, ServerResponse } from 'node:http'
import { replicaReadContext } from '../../platform/db/read-replica.js'

const maxSeconds = 60

/**
 * Adds the `Age` header (RFC 9111, section 5.1) to responses that used a read replica. It states the maximum age of the data in
 * seconds. The age is 0 unless the request allows older data with `Cache-Control: max-age`.
 */
export function addAgeHeader(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  let maxMs = 0
  const recordAge = (ageMs: number) => {
    maxMs = Math.max(maxMs, ageMs)
    if (!response.headersSent) response.setHeader('Age', Math.ceil(maxMs / 1000))
  }
  replicaReadContext.run(
    { arrivedAt: performance.now(), maxAgeMs: parseMaxAge(request.headers['cache-control']) * 1000, served: recordAge },
    next,
  )
}

/** Parses the `max-age` directive of `Cache-Control` (RFC 9111, section 5.2.1.1). Returns seconds, at most 60. */
function parseMaxAge(header = ''): number {
  if (/(^|[\s,])no-(cache|store)/i.test(header)) return 0
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(header) ?? []
  return Math.min(Number(seconds ?? 0), maxSeconds)
}
