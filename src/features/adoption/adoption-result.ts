import { toBlockReason } from '../../platform/errors/block-reasons.js'
import type { AssayError } from '../../platform/errors/errors.js'
import type { StoredBlob } from '../../platform/storage/blob-storage.js'

export const adoptionOutcomes = ['accepted', 'quarantined', 'rejected', 'registered', 'skipped', 'failed'] as const
export type AdoptionOutcome = (typeof adoptionOutcomes)[number]

/**
 * `registered`: the object already belongs to a file. `skipped`: the file that used the object was deleted. `failed`: the next
 * run retries the object.
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

export const toAdoptionResult = (
  object: StoredBlob,
  fields: Pick<AdoptionResult, 'outcome'> & Partial<AdoptionResult>,
): AdoptionResult => ({
  path: object.path,
  reason: null,
  message: null,
  fileId: null,
  sizeBytes: object.size,
  checksum: null,
  ...fields,
})

/**
 * Returns the outcome for an object whose adoption failed with this error. Returns undefined if the error would also affect all
 * remaining objects, in which case the run must end.
 */
export function toAdoptionOutcome({ code }: AssayError): 'rejected' | 'failed' | undefined {
  if (toBlockReason(code) || code === 'scan_incomplete') return 'rejected'
  return ['storage_unavailable', 'not_found', 'conflict', 'bad_user_input'].includes(code) ? 'failed' : undefined
}
