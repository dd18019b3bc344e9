import type { Readable } from 'node:stream'
import type { Content } from '../../spool/content.js'
import { getPart } from '../bucket/content.js'

interface Command {
  middlewareStack: { add(middleware: never, options: { step: 'build'; name: string }): void }
}

/** Signs the SHA-256 of the body, which the store verifies. The SDK itself would read the body twice or use aws-chunked. */
export function withPayloadHash<T>(command: T & Command, sha256: string): T {
  const middleware = (next: (args: unknown) => unknown) => (args: { request: { headers: Record<string, string> } }) => {
    args.request.headers['x-amz-content-sha256'] = sha256
    return next(args)
  }
  command.middlewareStack.add(middleware as never, { step: 'build', name: 'payloadHash' })
  return command
}

/** Returns the body for one attempt. `close` closes the file if the attempt ends early. */
export function toBody(content: Content, part: { start: number; end: number }): { value: Buffer | Readable; close(): void } {
  const body = getPart(content, part)
  if (!('read' in body)) return { value: body, close: () => {} }
  const stream = body.read()
  return { value: stream, close: () => void stream.on('error', () => {}).destroy() }
}
