import { randomUUID } from 'node:crypto'
import type { GcsAccess } from './access.js'
import { textOf } from './connection.js'
import { type ObjectFacts, objectFacts } from './content.js'
import { answerOf, BucketAnswer } from './deadline.js'

export interface WholeObject {
  /** In the bucket, with its prefix. */
  name: string
  bytes: Buffer
  /** https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
  resource: object
  /** '0': only where there is none. */
  ifGenerationMatch?: string
}

/**
 * One object in one request, on a connection of ours: the library's stream waits for the end of an answer that came in half, and cannot be
 * called back. https://cloud.google.com/storage/docs/uploading-objects#uploading-an-object
 */
export async function sendWhole(access: GcsAccess, object: WholeObject, signal: AbortSignal): Promise<ObjectFacts> {
  const { bucket, endpoint, connection, limits } = access
  const query = new URLSearchParams({
    uploadType: 'multipart',
    name: object.name,
    ...(object.ifGenerationMatch !== undefined && { ifGenerationMatch: object.ifGenerationMatch }),
  })
  const url = `${endpoint}/upload/storage/v1/b/${bucket.name}/o?${query}`
  const boundary = randomUUID()
  const { contentType = 'application/octet-stream' } = object.resource as { contentType?: string }
  const head = [
    `--${boundary}`,
    'Content-Type: application/json; charset=UTF-8',
    '',
    JSON.stringify(object.resource),
    `--${boundary}`,
    `Content-Type: ${contentType}`,
    '',
    '',
  ]
  const body = Buffer.concat([Buffer.from(head.join('\r\n')), object.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  const headers = { ...(await access.authorization(url)), 'Content-Type': `multipart/related; boundary=${boundary}` }
  const reply = await connection.send({ method: 'POST', url, headers, body, signal, idleMs: limits.callMs })
  const text = await textOf(reply)
  if (reply.status !== 200 && reply.status !== 201) throw answerOf(reply, text)
  return objectFacts(jsonOf(text))
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BucketAnswer(502, 'half an answer')
  }
}
