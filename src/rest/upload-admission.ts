import type { IncomingMessage } from 'node:http'
import type { Actor } from '../auth/actor.js'
import { type AssayError, quotaExceeded, rejected } from '../errors.js'
import type { Attempt } from '../graphql/call.js'

const megabyte = 1_048_576
// What the other parts of a multipart body may take: only beyond it is a Content-Length certain to be too much.
const multipartSlack = 128 * 1024

/** What uploads are held against before their body is read, and while it comes. */
export interface UploadLimits {
  maxUploadMb: number
  /** How long a client may send nothing. */
  idleMs: number
  /** What the tenant's quota leaves, in bytes. */
  tenantRemaining(actor: Actor): Promise<number>
  /** Takes one of the simultaneous uploads; gives the function that returns it. Throws 429. */
  slot(actor: Actor): () => void
}

/**
 * Contract §6: before the body is read only what is known then can refuse an upload, which is its Content-Length. `kept` is false
 * for a dry run, which uses no quota. Takes a slot, and gives the function that returns it.
 */
export async function admitUpload(
  limits: UploadLimits,
  request: IncomingMessage,
  { actor, kept }: { actor: Actor; kept: boolean },
): Promise<() => void> {
  const least = Number(request.headers['content-length'] ?? 0) - multipartSlack
  if (least > limits.maxUploadMb * megabyte) throw largerThanAny(limits.maxUploadMb)
  if (kept && least > 0) {
    const remaining = await limits.tenantRemaining(actor)
    if (least > remaining)
      throw quotaExceeded(`The tenant has ${remaining} bytes left of its quota; the upload has at least ${least}.`, {
        remaining_bytes: remaining,
        size_bytes: least,
      })
  }
  return limits.slot(actor)
}

/** For what is too large before its context is known. */
export const largerThanAny = (maxUploadMb: number) =>
  rejected('size_exceeded', `The file is larger than ${maxUploadMb} MB, the most that any context may allow.`, {
    max_file_size_mb: maxUploadMb,
  })

/** Blocked before its context was known: in the log, and counted for the tenant and the key. */
export async function recordOversized(attempt: Attempt, error: AssayError): Promise<void> {
  const { actor } = attempt
  const apiKeyId = actor.kind === 'api_key' ? actor.id : null
  const blocked = { tenantId: actor.tenantId, contextId: null, apiKeyId, reason: 'size_exceeded' as const }
  await attempt.call.gate.record({ ...attempt.fail(error), blocked }).catch(() => {})
}
