import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonLimits } from '../../access/json-admission.js'
import { AssayError, badUserInput } from '../../platform/errors/errors.js'
import { Batch } from '../../platform/spool/batch.js'
import { megabyte } from '../../platform/units.js'
import { losesDigitsMessage, numberThatLosesDigits } from './json-numbers.js'
import { hasTooManyValues, mostJsonValues } from './json-size.js'
import { watchBody } from './watch-body.js'

const longBytes = 65_536

/** The members of a JSON body. Throws 415 and 400; nothing at all is an object without members. */
export async function readJson(request: IncomingMessage, limits: JsonLimits): Promise<Record<string, unknown>> {
  const type = request.headers['content-type']
  refuseEncoding(request)
  if (type !== undefined && !/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type))
    throw unsupported(`The body is '${type.slice(0, 100)}'; send application/json.`)
  const bytes = await readBytes(request, limits)
  if (bytes.length === 0) return {}
  if (type === undefined) throw unsupported('The body has no Content-Type; send application/json.')
  const isLong = bytes.length > longBytes
  // Other calls have their turn between the steps of a long body, each of which may take milliseconds.
  if (isLong) await nextTurn()
  if (hasTooManyValues(bytes)) throw badUserInput([{ field: 'body', message: `must have at most ${mostJsonValues} values` }])
  if (isLong) await nextTurn()
  let parsed: unknown
  let inexact: string | undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    parsed = JSON.parse(text)
    if (isLong) await nextTurn()
    inexact = numberThatLosesDigits(text)
  } catch (error) {
    throw badUserInput([{ field: 'body', message: `must be valid JSON in UTF-8 (${(error as Error).message.slice(0, 100)})` }])
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badUserInput([{ field: 'body', message: 'must be a JSON object' }])
  if (inexact) throw badUserInput([{ field: 'body', message: losesDigitsMessage(inexact) }])
  if (isLong) await nextTurn()
  return parsed as Record<string, unknown>
}

/** Throws the 415 for a body that would have to be unpacked. */
export function refuseEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw unsupported(`The body is encoded as '${encoding.slice(0, 100)}'; send it as it is.`)
}

export const unsupported = (message: string) => new AssayError('unsupported_media_type', message)

const tooLong = (mostBytes: number) =>
  badUserInput([
    {
      field: 'body',
      message: `must be at most ${mostBytes >= megabyte ? `${mostBytes / megabyte} MiB` : `${mostBytes / 1024} KiB`}`,
    },
  ])

function readBytes(request: IncomingMessage, { mostBytes, ...limits }: JsonLimits): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return Promise.reject(tooLong(mostBytes))
  const batch = new Batch()
  let unwatch = () => {}
  return new Promise<Buffer>((resolve, reject) => {
    unwatch = watchBody(request, limits, reject)
    request.on('data', (chunk: Buffer) => {
      if (batch.size + chunk.length > mostBytes) return reject(tooLong(mostBytes))
      batch.add(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(batch.take())))
  }).finally(() => {
    unwatch()
    request.removeAllListeners('data')
  })
}
