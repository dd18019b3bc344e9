import type { KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'

/** What a receipt says: the payload of its JWS, as it is written there. */
export interface Receipt {
  iss: string
  iat: number
  /** The file's id, or the call's where it was rejected. */
  sub: string
  tenant_id: string
  filename: string | null
  size_bytes: number | null
  sha256: string | null
  context_key: string | null
  rules_version: number | null
  outcome: 'accepted' | 'rejected'
  reason: string | null
  checks: { check: string; outcome: string }[]
  engine: Record<string, unknown> | null
  uploaded_by: string | null
  uploaded_at: string
  log: ReceiptProof
}

/** Where the verdict stands in the log. `entry` is the text whose hash `leaf` is; hashes are in base64, `proof` from the leaf upwards. */
export interface ReceiptProof {
  origin: string
  index: number
  entry: string
  leaf: string
  checkpoint: string
  proof: string[]
}

/** What the header's `typ` says, so that no token of a session can stand for a receipt, nor the reverse. */
export const receiptType = 'receipt+jws'

/** The origin of a tenant's log, which is also the name of its key. */
export const getLogOrigin = (publicUrl: string, tenantId: string): string => `${new URL(publicUrl).host}/log/${tenantId}`

/** The receipt as a compact JWS. */
export const signReceipt = (receipt: Receipt, key: { id: string; privateKey: KeyObject }): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(receipt)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: receiptType })
    .sign(key.privateKey)
