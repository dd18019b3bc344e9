import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { parseCheckpoint } from './checkpoint.js'
import { computeRootFromProof, hashLeaf } from './merkle.js'
import { getLogOrigin, type Receipt, receiptType } from './receipt.js'
import { isSignedBy, parseNote } from './signed-note.js'

/** Makes receipt text safe to print. Replaces control and bidirectional characters, and truncates it to 100 characters. */
function sanitizeText(value: string): string {
  const clean = value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}

/** Result of one receipt check, with a message for the user. */
export interface Finding {
  proven: boolean
  message: string
}

/** Public key from /.well-known/jwks.json for receipts and log checkpoints. */
export interface VerificationKey {
  kid: string
  publicKey: KeyObject
}

interface CheckReceiptInput {
  receipt: string
  keys: readonly VerificationKey[]
  file?: { name: string; sizeBytes: number; sha256: string } | undefined
}

const createProvenFinding = (message: string): Finding => ({ proven: true, message })
const createUnprovenFinding = (message: string): Finding => ({ proven: false, message })

/** Returns the Ed25519 keys of a JSON Web Key Set. Throws if the text is not a key set. */
export function parseKeySet(text: string): VerificationKey[] {
  const set = parseJson(text) as { keys?: unknown }
  if (!Array.isArray(set?.keys)) throw new Error('This file is not a key set. Download /.well-known/jwks.json from the service.')
  return set.keys.flatMap((jwk: { kid?: unknown; kty?: unknown; crv?: unknown; x?: unknown }) => {
    if (typeof jwk?.kid !== 'string' || jwk.kty !== 'OKP' || jwk.crv !== 'Ed25519' || typeof jwk.x !== 'string') return []
    if (decodeBase64Url(jwk.x).length !== 32) return []
    const key = { kty: 'OKP', crv: 'Ed25519', x: jwk.x }
    return [{ kid: jwk.kid, publicKey: createPublicKey({ key, format: 'jwk' }) }]
  })
}

/** Extracts the receipt, a compact JWS, from text that may be a JSON response from the service. */
export function extractReceipt(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{')) return trimmed
  try {
    const { receipt, data } = JSON.parse(trimmed) as { receipt?: unknown; data?: { receipt?: unknown } }
    return String(receipt ?? data?.receipt)
  } catch {
    return trimmed
  }
}

/** Checks a receipt offline and returns one finding per check. If the signature is invalid, no other checks run. */
export function checkReceipt({ receipt: jws, keys, file }: CheckReceiptInput): Finding[] {
  const signedReceipt = verifySignature(jws, keys)
  if ('proven' in signedReceipt) return [signedReceipt]
  const { receipt, kid } = signedReceipt
  const issuedAt = new Date(receipt.iat * 1000).toISOString()
  return [
    createProvenFinding(
      `${sanitizeText(receipt.iss)} issued this receipt for ${receipt.sub} at ${issuedAt} and signed it with key ${kid}.`,
    ),
    ...(file ? [checkFile(receipt, file)] : []),
    checkLogEntry(receipt),
    ...checkLogProof(receipt, keys),
  ]
}

/** The `buffer` package for browsers does not support `base64url`, but `base64` decodes it too. */
const decodeBase64Url = (text: string): Buffer => Buffer.from(text, 'base64')

/** Verifies the signature without WebCrypto, which browsers provide only to pages served over HTTPS. */
function verifySignature(jws: string, keys: readonly VerificationKey[]): Finding | { receipt: Receipt; kid: string } {
  const header = parseHeader(jws)
  if (!header)
    return createUnprovenFinding('The receipt is not a compact JWS, which consists of three base64url parts separated by dots.')
  if (header.alg !== 'EdDSA' || header.typ !== receiptType)
    return createUnprovenFinding(
      `The receipt has type '${sanitizeText(String(header.typ))}' and algorithm ${sanitizeText(String(header.alg))}. It must have type '${receiptType}' and algorithm EdDSA.`,
    )
  // A JWS is invalid if it requires an extension that the verifier does not support (RFC 7515, section 4.1.11).
  if ('crit' in header)
    return createUnprovenFinding('The receipt requires a JWS extension (`crit`). Assay does not issue such receipts.')
  const key = keys.find(({ kid }) => kid === header.kid)
  if (!key)
    return createUnprovenFinding(
      `The key set does not contain key '${sanitizeText(String(header.kid))}', which signed the receipt.`,
    )
  const [protectedHeader, payload, signature] = jws.split('.') as [string, string, string]
  const isSigned = verify(null, Buffer.from(`${protectedHeader}.${payload}`), key.publicKey, decodeBase64Url(signature))
  if (!isSigned)
    return createUnprovenFinding('The receipt signature is invalid: the receipt was changed, or signed with another key.')
  const receipt = parseJson(decodeBase64Url(payload).toString())
  return isReceipt(receipt)
    ? { receipt, kid: key.kid }
    : createUnprovenFinding('The signed data is not a receipt: required claims are missing or invalid.')
}

function checkFile({ sha256, size_bytes: size }: Receipt, { name, ...file }: NonNullable<CheckReceiptInput['file']>): Finding {
  if (sha256 === null)
    return createUnprovenFinding(
      `${sanitizeText(name)} cannot be compared: the receipt contains no checksum of the uploaded file.`,
    )
  if (file.sha256 !== sha256 || file.sizeBytes !== size)
    return createUnprovenFinding(
      `${sanitizeText(name)} is not the validated file: it has ${file.sizeBytes} bytes and SHA-256 ${file.sha256}. The receipt is for ${size} bytes and SHA-256 ${sha256}.`,
    )
  return createProvenFinding(`${sanitizeText(name)} is the validated file: ${size} bytes, SHA-256 ${sha256}.`)
}

/** Checks that the receipt's claims match the log entry. */
function checkLogEntry(receipt: Receipt): Finding {
  const entry = parseJson(receipt.log.entry) as
    | { sequence?: number; type?: string; event_id?: string; data?: Record<string, unknown> }
    | undefined
  const data = entry?.data ?? {}
  const comparisons: [string, unknown, unknown][] = [
    ['outcome', `file.${receipt.outcome}`, entry?.type],
    ['number', receipt.log.index + 1, entry?.sequence],
    ['sub', receipt.sub, data.file_id ?? data.call_id ?? entry?.event_id],
    ['filename', receipt.filename, data.original_filename],
    ['size_bytes', receipt.size_bytes, data.size_bytes],
    ['sha256', receipt.sha256 === null ? null : `sha256:${receipt.sha256}`, data.checksum],
    ['context_key', receipt.context_key, data.context_key],
    ['rules_version', receipt.rules_version, data.rules_version],
    ['reason', receipt.reason, data.reason],
    ['uploaded_by', receipt.uploaded_by, data.uploaded_by],
    ['upload_link_id', receipt.upload_link_id, data.upload_link_id],
  ]
  const differences = comparisons.filter(([, expected, actual]) => (expected ?? null) !== (actual ?? null)).map(([name]) => name)
  if (differences.length > 0)
    return createUnprovenFinding(`The log entry differs from the receipt in these fields: ${differences.join(', ')}.`)
  const verdict = receipt.outcome === 'accepted' ? 'accepted' : `rejected (${sanitizeText(receipt.reason ?? '')})`
  return createProvenFinding(`The log entry matches the receipt: '${sanitizeText(receipt.filename ?? '')}' was ${verdict}.`)
}

function checkLogProof({ log, iss, tenant_id: tenantId }: Receipt, keys: readonly VerificationKey[]): Finding[] {
  const note = parseNote(log.checkpoint)
  const checkpoint = note && parseCheckpoint(note.text)
  if (!note || !checkpoint) return [createUnprovenFinding('The receipt contains no valid checkpoint of the transparency log.')]
  const leaf = hashLeaf(log.entry)
  const root = computeRootFromProof(
    leaf,
    { index: log.index, size: checkpoint.size },
    log.proof.map((hash) => Buffer.from(hash, 'base64')),
  )
  const position = `number ${log.index + 1} of ${checkpoint.size} in log ${sanitizeText(checkpoint.origin)}`
  const isIncluded = leaf.toString('base64') === log.leaf && root?.equals(checkpoint.root)
  const signer = keys.find(({ publicKey }) => isSignedBy(note, checkpoint.origin, publicKey))
  const isLogOfTenant = checkpoint.origin === log.origin && log.origin === getLogOrigin(iss, tenantId)
  return [
    isIncluded
      ? createProvenFinding(`The log entry is ${position}.`)
      : createUnprovenFinding(`The log entry is not ${position}: its inclusion proof does not match the root hash.`),
    signer
      ? createProvenFinding(`The log checkpoint is signed with key ${signer.kid}.`)
      : createUnprovenFinding('The log checkpoint is not signed with any key in the key set.'),
    ...(isLogOfTenant
      ? []
      : [
          createUnprovenFinding(
            `Log ${sanitizeText(checkpoint.origin)} is not the log of tenant ${sanitizeText(tenantId)} at ${sanitizeText(iss)}.`,
          ),
        ]),
  ]
}

function isReceipt(value: unknown): value is Receipt {
  const { log, ...receipt } = (value ?? {}) as Partial<Receipt>
  return (
    typeof receipt.iss === 'string' &&
    URL.canParse(receipt.iss) &&
    Number.isSafeInteger(receipt.iat) &&
    typeof receipt.sub === 'string' &&
    typeof receipt.tenant_id === 'string' &&
    typeof log?.entry === 'string' &&
    typeof log.checkpoint === 'string' &&
    Number.isSafeInteger(log.index) &&
    Array.isArray(log.proof) &&
    log.proof.every((hash) => typeof hash === 'string')
  )
}

function parseHeader(jws: string) {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jws)) return undefined
  try {
    return decodeProtectedHeader(jws)
  } catch {
    return undefined
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
