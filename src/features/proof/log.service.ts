import {
  type Checkpoint,
  computeCompleteSubtreeRoot,
  computeRoot,
  encodeEntryBundle,
  formatCheckpoint,
  formatVerifierKey,
  getLogOrigin,
  getSiblingSubtrees,
  getStoredHashes,
  isSignedBy,
  parseCheckpoint,
  parseNote,
  type Range,
  type StoredHashes,
  signNote,
  type TilePath,
  tileWidth,
} from '@assay/proofs'
import { parseKeyPair } from '../../access/signing-secrets.js'
import { toPrintableText } from '../../platform/errors/errors.js'
import type { Components } from '../components.js'

export interface SignedCheckpoint extends Checkpoint {
  note: string
}

/** Provides a tenant's journal as a transparency log, built from the hashes that the ledger stores. */
export class LogService {
  constructor(private readonly parts: Pick<Components, 'db' | 'identity'> & { publicUrl: string }) {}

  /** Creates a checkpoint that covers every change confirmed before this call. */
  async createCheckpoint(tenantId: string): Promise<SignedCheckpoint> {
    const { rows } = await this.parts.db.pool.query<{ size: number; frontier: Buffer[]; durable: boolean }>({
      name: 'log-head',
      text: `SELECT journal_length AS size, journal_frontier AS frontier, ${await this.parts.db.durability.getExpression()} AS durable FROM tenant_heads WHERE tenant_id = $1`,
      values: [tenantId],
    })
    const { size, frontier, durable } = rows[0] ?? { size: 0, frontier: [], durable: true }
    if (!durable) await this.parts.db.durability.flush()
    const checkpoint = { origin: getLogOrigin(this.parts.publicUrl, tenantId), size, root: computeRoot(frontier) }
    const key = parseKeyPair(await this.parts.identity.signing.log.getCurrentKey())
    return { ...checkpoint, note: signNote(formatCheckpoint(checkpoint), checkpoint.origin, key) }
  }

  async getVerifierKey(tenantId: string): Promise<string> {
    return formatVerifierKey(
      getLogOrigin(this.parts.publicUrl, tenantId),
      parseKeyPair(await this.parts.identity.signing.log.getCurrentKey()).publicKey,
    )
  }

  /** Returns a tile, or undefined if the log is too short to contain it. */
  async readTile(tenantId: string, { level, place, width }: TilePath): Promise<Buffer | undefined> {
    const values = [tenantId, place * tileWidth, place * tileWidth + width]
    const { rows } = await this.parts.db.pool.query<{ part: unknown }>(
      level === 'entries' || level === 0
        ? {
            name: `log-tile-${level}`,
            text: `SELECT ${level === 0 ? 'leaf' : 'entry'} AS part FROM journal WHERE tenant_id = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence`,
            values,
          }
        : {
            name: 'log-tile-nodes',
            text: 'SELECT hash AS part FROM journal_nodes WHERE tenant_id = $1 AND place >= $2 AND place < $3 AND level = $4 ORDER BY place',
            values: [...values, level],
          },
    )
    if (rows.length < width) return undefined
    const parts = rows.map(({ part }) => part)
    return level === 'entries' ? encodeEntryBundle(parts as string[]) : Buffer.concat(parts as Buffer[])
  }

  /** Returns the inclusion proof (RFC 6962) of an entry: the hashes from the leaf to the root of the first `size` entries. */
  getInclusionProof(tenantId: string, index: number, size: number): Promise<Buffer[]> {
    return this.#computeRoots(tenantId, getSiblingSubtrees(index, size))
  }

  /** Checks whether the log extends a saved checkpoint. Returns the error as a sentence, or undefined if the check succeeds. */
  async findCheckpointError(note: string): Promise<string | undefined> {
    const kept = parseNote(note)
    const checkpoint = kept && parseCheckpoint(kept.text)
    if (!kept || !checkpoint) return 'The file is not a log checkpoint. Store the unmodified response of GET /log/checkpoint.'
    const { origin, size, root } = checkpoint
    const keys = await this.parts.identity.signing.log.getAllKeys()
    if (!keys.some((key) => isSignedBy(kept, origin, parseKeyPair(key).publicKey)))
      return `The checkpoint for ${toPrintableText(origin)} was modified, or was not signed with one of this service's keys.`
    const tenantId = origin.slice(origin.lastIndexOf('/') + 1)
    const { size: length } = await this.createCheckpoint(tenantId)
    if (length < size)
      return `The log ${toPrintableText(origin)} has ${length} entries, but its checkpoint covers ${size}: the log was truncated.`
    const [found] = await this.#computeRoots(tenantId, [{ from: 0, to: size }])
    return found!.equals(root)
      ? undefined
      : `The first ${size} entries of the log ${toPrintableText(origin)} do not match the checkpoint.`
  }

  /** Computes the root hash of each range of leaves from stored hashes. */
  async #computeRoots(tenantId: string, ranges: readonly Range[]): Promise<Buffer[]> {
    const wanted = ranges.map(getStoredHashes)
    const runs = wanted.flat()
    const { rows } = await this.parts.db.pool.query<{ level: number; place: number; hash: Buffer }>({
      name: 'log-hashes',
      text: `SELECT w.level, found.place, found.hash FROM unnest($2::int[], $3::bigint[], $4::bigint[]) AS w(level, first, beyond)
        CROSS JOIN LATERAL (
          SELECT sequence - 1 AS place, leaf AS hash FROM journal
            WHERE w.level = 0 AND tenant_id = $1 AND sequence > w.first AND sequence <= w.beyond
          UNION ALL
          SELECT place, hash FROM journal_nodes WHERE tenant_id = $1 AND level = w.level AND place >= w.first AND place < w.beyond
        ) found`,
      values: [
        tenantId,
        runs.map(({ level }) => level),
        runs.map(({ place }) => place),
        runs.map(({ place, count }) => place + count),
      ],
    })
    const known = new Map(rows.map(({ level, place, hash }) => [`${level}/${place}`, hash]))
    const getStoredHash = (level: number, place: number): Buffer => {
      const hash = known.get(`${level}/${place}`)
      if (!hash) throw new Error(`The journal of ${tenantId} lacks hash ${place} at level ${level}. Run "admin verify".`)
      return hash
    }
    const computeRunRoot = ({ level, place, count }: StoredHashes) =>
      computeCompleteSubtreeRoot(Array.from({ length: count }, (_, at) => getStoredHash(level, place + at)))
    return wanted.map((parts) => computeRoot(parts.map(computeRunRoot)))
  }
}
