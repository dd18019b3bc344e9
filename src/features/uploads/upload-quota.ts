import { overQuotaOfLink } from '../../ledger/rejections.js'
import type { Actor } from '../../platform/actor.js'
import { type AssayError, quotaExceeded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'

/** Storage in bytes: the quota, the usage by files, and the received bytes of unfinished uploads. */
interface Room {
  quota: number
  stored: number
  unfinished: number
}

export interface UploadRoom {
  tenant: Room
  /** Null if the context was deleted. */
  context: Room | null
}

/** Thrown if received bytes, together with files and other unfinished uploads, exceed a quota. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
  constructor(
    readonly room: UploadRoom,
    readonly added: number,
  ) {
    super('The received bytes exceed a quota.')
  }
}

const remainingIn = ({ quota, stored, unfinished }: Room): number => Math.max(0, quota - stored - unfinished)

export const hasRoom = ({ tenant, context }: UploadRoom, added: number): boolean =>
  added <= remainingIn(tenant) && (context === null || added <= remainingIn(context))

/** Returns the error for a quota that other unfinished uploads use up. The upload can be resumed. */
export function overQuotaWhileUnfinished(actor: Actor, contextKey: string, { room, added }: NoRoom): AssayError {
  const fix = 'Finish or delete unfinished uploads, or delete files, then resume this upload.'
  const ofContext = room.context !== null && added > remainingIn(room.context)
  if (actor.uploadLink) return overQuotaOfLink(added)
  // A key that is restricted to certain contexts must not learn the storage of the whole tenant.
  if (!ofContext && actor.contexts)
    return quotaExceeded(`The remaining quota of the tenant is smaller than the ${added} received bytes. ${fix}`, {
      size_bytes: added,
    })
  const { quota, stored, unfinished } = ofContext ? room.context! : room.tenant
  const owner = ofContext ? `Context '${contextKey}'` : 'The tenant'
  const remaining = remainingIn({ quota, stored, unfinished })
  return quotaExceeded(
    `${owner} has ${remaining} bytes of its quota of ${quota / megabyte} MB left, because unfinished uploads use ${unfinished} bytes. The request has ${added} bytes. ${fix}`,
    {
      quota_mb: quota / megabyte,
      used_bytes: stored,
      unfinished_bytes: unfinished,
      remaining_bytes: remaining,
      size_bytes: added,
    },
  )
}
