import { toBlockReason } from '../../platform/errors/block-reasons.js'
import type { AssayError } from '../../platform/errors/errors.js'
import type { StoredBlob } from '../../platform/storage/blob-storage.js'

export const adoptionOutcomes = ['accepted', 'quarantined', 'rejected', 'registered', 'skipped', 'failed'] as const
export type AdoptionOutcome = (typeof adoptionOutcomes)[number]

/**
 * Result of one object. `accepted`: it is a file now. `quarantined`: it is infected, and a quarantined file now. `rejected`: it violates the rules. `registered`: it was a file already. `skipped`: its
 * file was deleted. `failed`: it could not be read or registered. The next run tries it again.
 */
export interface AdoptionResult {
  path: string
  outcome: AdoptionOutcome
  reason: string | null
  message: string | null
  fileId: string | null
  sizeBytes: number
  checksum: string | null
}

export const toResult = (
  object: StoredBlob,
  known: Pick<AdoptionResult, 'outcome'> & Partial<AdoptionResult>,
): AdoptionResult => ({
  path: object.path,
  reason: null,
  message: null,
  fileId: null,
  sizeBytes: object.size,
  checksum: null,
  ...known,
})

/** Undefined if further objects would fail too. */
export function toOutcome({ code }: AssayError): 'rejected' | 'failed' | undefined {
  if (toBlockReason(code) || code === 'scan_incomplete') return 'rejected'
  return ['storage_unavailable', 'not_found', 'conflict', 'bad_user_input'].includes(code) ? 'failed' : undefined
}
