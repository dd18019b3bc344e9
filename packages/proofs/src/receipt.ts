import type { KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'

/** Claims in the JWS payload of a receipt. */
export interface Receipt {
  iss: string
  iat: number
  /** Id of the accepted file. For a rejected upload, the id of the API call, or of the event if a user uploaded the file. */
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
  /** Id of the upload link through which the file was uploaded, if any. */
  upload_link_id?: string
  uploaded_at: string
  log: ReceiptProof
}

/**
 * Inclusion proof of the verdict in the log. `leaf` is the hash of `entry`. `proof` lists the sibling hashes from the leaf to
 * the root in base64.
 */
export interface ReceiptProof {
  origin: string
  index: number
  entry: string
  leaf: string
  checkpoint: string
  proof: string[]
}

/** Value of the `typ` header, which distinguishes receipts from session tokens. */
export const receiptType = 'receipt+jws'

/** Returns the origin of a tenant's log. The origin is also the name of the log's key. */
export const getLogOrigin = (publicUrl: string, tenantId: string): string => `${new URL(publicUrl).host}/log/${tenantId}`

/** Signs a receipt and returns it as a compact JWS (EdDSA). */
export const signReceipt = (receipt: Receipt, key: { id: string; privateKey: KeyObject }): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(receipt)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: receiptType })
    .sign(key.privateKey)
