import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { formatCheckpoint } from '../../packages/proofs/src/checkpoint.js'
import {
  computeCompleteSubtreeRoot,
  computeRoot,
  getSiblingSubtrees,
  getStoredHashes,
  hashLeaf,
} from '../../packages/proofs/src/merkle.js'
import { getLogOrigin, type Receipt, signReceipt } from '../../packages/proofs/src/receipt.js'
import { signNote } from '../../packages/proofs/src/signed-note.js'

export interface SigningKey {
  id: string
  privateKey: KeyObject
  publicKey: KeyObject
}

export const createSigningKey = (id: string): SigningKey => ({ id, ...generateKeyPairSync('ed25519') })

export const createKeySet = (...keys: SigningKey[]): string =>
  JSON.stringify({ keys: keys.map(({ id, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid: id, alg: 'EdDSA' })) })

/** An in-memory transparency log with stored hashes. */
export class MemoryLog {
  readonly leaves: Buffer[]
  readonly #nodes = new Map<string, Buffer>()

  constructor(entries: readonly string[]) {
    this.leaves = entries.map(hashLeaf)
  }

  computeRoot(from = 0, to = this.leaves.length): Buffer {
    return computeRoot(
      getStoredHashes({ from, to }).map(({ level, place, count }) =>
        computeCompleteSubtreeRoot(this.#getHashes(level, place, count)),
      ),
    )
  }

  getProof(index: number, size = this.leaves.length): Buffer[] {
    return getSiblingSubtrees(index, size).map(({ from, to }) => this.computeRoot(from, to))
  }

  #getHashes(level: number, place: number, count: number): Buffer[] {
    if (level === 0) return this.leaves.slice(place, place + count)
    return Array.from({ length: count }, (_, at) => this.#getNode(level, place + at))
  }

  #getNode(level: number, place: number): Buffer {
    const name = `${level}/${place}`
    const hash = this.#nodes.get(name) ?? computeCompleteSubtreeRoot(this.#getHashes(level - 1, place * 256, 256))
    this.#nodes.set(name, hash)
    return hash
  }
}

const tenantId = 'ten_01jd0000000000000000000000'
const fileId = 'file_01jd0000000000000000000001'
const publicUrl = 'https://files.example.org'

/** Creates a receipt for the third of seven entries. Given members override the defaults. */
export async function createReceipt(
  { receiptKey, logKey }: { receiptKey: SigningKey; logKey: SigningKey },
  changes: { receipt?: Partial<Receipt>; log?: Partial<Receipt['log']> } = {},
  sha256 = 'ab'.repeat(32),
): Promise<string> {
  const data = {
    checksum: `sha256:${sha256}`,
    content_type: 'text/csv',
    context_key: 'invoices',
    file_id: fileId,
    original_filename: 'a.csv',
    rules_version: 2,
    size_bytes: 12,
    uploaded_by: 'key_01jd0000000000000000000002',
  }
  const entry = JSON.stringify({
    data,
    event_id: 'evt_x',
    occurred_at: '2026-11-22T12:00:00.000Z',
    sequence: 3,
    type: 'file.accepted',
  })
  const log = new MemoryLog(['one', 'two', entry, 'four', 'five', 'six', 'seven'])
  const origin = getLogOrigin(publicUrl, tenantId)
  const receipt: Receipt = {
    iss: publicUrl,
    iat: 1_795_000_000,
    sub: fileId,
    tenant_id: tenantId,
    filename: data.original_filename,
    size_bytes: data.size_bytes,
    sha256,
    context_key: data.context_key,
    rules_version: data.rules_version,
    outcome: 'accepted',
    reason: null,
    checks: [{ check: 'virus_detected', outcome: 'passed' }],
    engine: null,
    uploaded_by: data.uploaded_by,
    uploaded_at: '2026-11-22T12:00:00.000Z',
    ...changes.receipt,
    log: {
      origin,
      index: 2,
      entry,
      leaf: log.leaves[2]!.toString('base64'),
      checkpoint: signNote(formatCheckpoint({ origin, size: 7, root: log.computeRoot() }), origin, logKey),
      proof: log.getProof(2).map((hash) => hash.toString('base64')),
      ...changes.log,
    },
  }
  return signReceipt(receipt, receiptKey)
}
