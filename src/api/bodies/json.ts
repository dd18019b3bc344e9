import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonLimits } from '../../access/body-admission.js'
import { invalidField } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import { createUnsupportedError, rejectContentEncoding, watchBody } from './request-body.js'

const longBytes = 65_536

/** Parses a JSON body and returns its members. An empty body is treated as an empty object. Throws 400 or 415. */
export async function readJson(request: IncomingMessage, limits: JsonLimits): Promise<Record<string, unknown>> {
  const type = request.headers['content-type']
  rejectContentEncoding(request)
  if (type !== undefined && !/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type))
    throw createUnsupportedError(`The body has the Content-Type '${type.slice(0, 100)}'. Send application/json.`)
  const bytes = await readBytes(request, limits)
  if (bytes.length === 0) return {}
  if (type === undefined) throw createUnsupportedError('The body has no Content-Type. Send application/json.')
  const isLong = bytes.length > longBytes
  // Each step of parsing a long body may take several milliseconds, so serve other requests between the steps.
  if (isLong) await nextTurn()
  if (hasTooManyValues(bytes)) throw createBodyError(`must contain at most ${maxJsonValues} JSON values`)
  if (isLong) await nextTurn()
  let parsed: unknown
  let inexact: string | undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    parsed = JSON.parse(text)
    if (isLong) await nextTurn()
    inexact = findImpreciseNumber(text)
  } catch (error) {
    throw createBodyError(`must be valid JSON, encoded as UTF-8 (${(error as Error).message.slice(0, 100)})`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw createBodyError('must be a JSON object')
  if (inexact) throw createBodyError(createImpreciseNumberMessage(inexact))
  if (isLong) await nextTurn()
  return parsed as Record<string, unknown>
}

const createBodyError = (message: string) => invalidField('body', message)

const createBodyTooLargeError = (maxBytes: number) =>
  createBodyError(`must be at most ${maxBytes >= megabyte ? `${maxBytes / megabyte} MiB` : `${maxBytes / 1024} KiB`}`)

function readBytes(request: IncomingMessage, { maxBytes, ...limits }: JsonLimits): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(createBodyTooLargeError(maxBytes))
  let body = Buffer.alloc(0)
  let size = 0
  let stopWatching = () => {}
  return new Promise<Buffer>((resolve, reject) => {
    stopWatching = watchBody(request, limits, reject)
    request.on('data', (chunk: Buffer) => {
      const newSize = size + chunk.length
      if (newSize > maxBytes) return reject(createBodyTooLargeError(maxBytes))
      // Small chunks are copied into one buffer, because each Buffer needs about 100 bytes in addition to its content.
      if (newSize > body.length) body = Buffer.concat([body], Math.min(maxBytes, 2 * newSize))
      chunk.copy(body, size)
      size = newSize
    })
    request.once('end', () => resolve(body.subarray(0, size)))
  }).finally(() => {
    stopWatching()
    request.removeAllListeners('data')
  })
}

/** Maximum number of values in a JSON body, counting all levels. 16 KiB of metadata cannot contain this many values. */
export const maxJsonValues = 10_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const bracket = 0x5b
const brace = 0x7b

/**
 * Returns true if the text contains too many values. Must be called before parsing, because parsing a megabyte of `[[[[` or empty
 * strings takes a hundred times as long as parsing a megabyte of text.
 */
export function hasTooManyValues(json: Uint8Array): boolean {
  let values = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (byte === quote) at = findEndOfString(json, at + 1)
    else if ((byte === comma || byte === bracket || byte === brace) && ++values > maxJsonValues) return true
  }
  return false
}

function findEndOfString(json: Uint8Array, start: number): number {
  let at = start
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}

// Matches strings and numbers. Strings are matched as a whole, so that digits in them are not treated as numbers. An unterminated
// string matches to the end of the text, which avoids quadratic time.
const tokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const manyDigits = /\d{16}/
const integer = /^-?\d{16,}$/
// Maximum length of an integer that a double can represent, including the sign.
const maxIntegerLength = 310
const maxReportedDigits = 40

/**
 * Returns the first integer that JSON.parse would silently change, such as 9007199254740993. Storing the changed number would
 * corrupt the client's data. A long integer is truncated in the result.
 */
export function findImpreciseNumber(json: string): string | undefined {
  if (!manyDigits.test(json)) return undefined
  for (const [token] of json.matchAll(tokens))
    if (isImpreciseInteger(token)) return token.length > maxReportedDigits ? `${token.slice(0, maxReportedDigits)}…` : token
  return undefined
}

/**
 * Returns true for an integer that a double cannot represent exactly. Returns false for fractions, because they may be
 * approximate.
 */
export const isImpreciseInteger = (integerText: string): boolean =>
  integer.test(integerText) &&
  (integerText.length > maxIntegerLength ||
    (String(Number(integerText)) !== integerText && BigInt(Number(integerText)) !== BigInt(integerText)))

export const createImpreciseNumberMessage = (integerText: string): string =>
  `must not contain the number ${integerText}, because only its first 15 or 16 digits would be stored. Send it as a string`
