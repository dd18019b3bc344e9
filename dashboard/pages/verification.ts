import { checkReceipt, extractReceipt, type Finding, parseKeySet } from '@assay/proofs'
import { createHash } from '../node/crypto.js'

/** Maximum size of a receipt or key set. Larger files are treated as files to compare with the receipt. */
const maxTextBytes = 1_000_000

type RecognizedFile = { type: 'receipt' | 'keys'; text: string } | { type: 'file' }

/** Recognizes receipts and key sets by their content. All other files are compared with the receipt. */
export async function recognizeFile(file: File): Promise<RecognizedFile> {
  if (file.size > maxTextBytes) return { type: 'file' }
  const text = (await file.text()).trim()
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) return { type: 'receipt', text }
  if (!text.startsWith('{')) return { type: 'file' }
  try {
    const { keys, receipt, data } = JSON.parse(text) as { keys?: unknown; receipt?: unknown; data?: { receipt?: unknown } }
    if (Array.isArray(keys) && keys.some((key: { kty?: unknown } | null) => key?.kty !== undefined)) return { type: 'keys', text }
    if (typeof (receipt ?? data?.receipt) === 'string') return { type: 'receipt', text }
  } catch {
    // The text is not JSON.
  }
  return { type: 'file' }
}

export interface HashedFile {
  name: string
  sizeBytes: number
  sha256: string
}

/** Computes the SHA-256 checksum of a file in chunks, so that large files need little memory. */
export async function hashFile(file: File, onProgress: (fraction: number) => void, signal: AbortSignal): Promise<HashedFile> {
  const hash = createHash('sha256')
  const reader = file.stream().getReader()
  let sizeBytes = 0
  for (let chunk = await reader.read(); !chunk.done && !signal.aborted; chunk = await reader.read()) {
    hash.update(chunk.value)
    sizeBytes += chunk.value.length
    onProgress(sizeBytes / file.size)
  }
  return { name: file.name, sizeBytes, sha256: hash.digest('hex') }
}

export const verifyReceipt = (receipt: string, keys: string, file: HashedFile | undefined): Finding[] =>
  checkReceipt({ receipt: extractReceipt(receipt), keys: parseKeySet(keys), file })
