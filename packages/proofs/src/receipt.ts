import type { KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'

/** Claims of a receipt: the payload of its JWS. */
export interface Receipt {
  iss: string
  iat: number
  /** Id of the file. For a rejected upload, the id of its call, or of the event if a user uploaded the file. */
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
  /** Present if the file was uploaded through an upload link. */
  upload_link_id?: string
  uploaded_at: string
  log: ReceiptProof
}

/**
 * Inclusion proof of the verdict in the log. `leaf` is the hash of `entry`. Hashes are in base64, and `proof` lists them from the leaf to
 * the root.
 */
export interface ReceiptProof {
  origin: string
  index: number
  entry: string
  leaf: string
  checkpoint: string
  proof: string[]
}

/** Value of the `typ` header. It prevents a session token from being accepted as a receipt, or a receipt as a token. */
export const receiptType = 'receipt+jws'

/** Returns the origin of a tenant's log, which is also the name of its key. */
export const getLogOrigin = (publicUrl: string, tenantId: string): string => `${new URL(publicUrl).host}/log/${tenantId}`

/** Signs a receipt and returns it as a compact JWS (EdDSA). */
export const signReceipt = (receipt: Receipt, key: { id: string; privateKey: KeyObject }): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(receipt)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: receiptType })
    .sign(key.privateKey)
