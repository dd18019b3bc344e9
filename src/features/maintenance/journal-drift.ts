import { computeCompleteSubtreeRoot, computeRoot, getStoredHashes, hashLeaf, toCanonicalJson } from '@assay/proofs'
import type { ClientBase } from 'pg'
import { readOnlySnapshot, runInTransaction } from '../../platform/db/queries.js'

interface Head {
  tenantId: string
  length: number
  frontier: Buffer[]
}

interface Row {
  sequence: number
  event_id: string
  type: string
  occurred_at: Date
  entry: string
  leaf: Buffer
}

const rowsAtOnce = 500
const tileWidth = 256

/**
 * Returns the number of errors in journals, such as gaps and wrong hashes. `recomputeHashes` recomputes all hashes. Otherwise,
 * only the last entries and the frontier are checked.
 */
export async function countJournalErrors(
  client: ClientBase,
  { tenantId, recomputeHashes }: { tenantId: string | null; recomputeHashes: boolean },
): Promise<number> {
  const { rows } =
    tenantId === null
      ? await client.query<{ tenant_id: string }>('SELECT tenant_id FROM tenant_heads ORDER BY tenant_id')
      : { rows: [{ tenant_id: tenantId }] }
  let drift = 0
  for (const { tenant_id } of rows) {
    const countTenantErrors = async () => {
      const head = await readJournalHead(client, tenant_id)
      return !head ? 0 : recomputeHashes ? countAllErrors(client, head) : countErrorsAtEnd(client, head)
    }
    drift += await runInTransaction(client, countTenantErrors, readOnlySnapshot)
  }
  return drift
}

async function readJournalHead(client: ClientBase, tenantId: string): Promise<Head | undefined> {
  const { rows } = await client.query<Head>(
    'SELECT tenant_id AS "tenantId", journal_length::float8 AS length, journal_frontier AS frontier FROM tenant_heads WHERE tenant_id = $1',
    [tenantId],
  )
  return rows[0]
}

async function countAllErrors(client: ClientBase, head: Head): Promise<number> {
  const nodes = await readJournalNodes(client, head.tenantId)
  let wrongNodes = 0
  const tree = new Tree((level, place, hash) => {
    if (!nodes.get(`${level}/${place}`)?.equals(hash)) wrongNodes++
    nodes.delete(`${level}/${place}`)
  })
  const wrongEntries = await countEntryErrors(client, head, { from: 0, onEntry: (entry) => tree.addLeaf(hashLeaf(entry)) })
  const hasSameFrontier =
    computeRoot(head.frontier).equals(computeRoot(tree.frontier)) && head.frontier.length === tree.frontier.length
  // The remaining nodes are errors, because the journal has no leaves for them.
  return wrongEntries + wrongNodes + nodes.size + (hasSameFrontier ? 0 : 1)
}

async function countErrorsAtEnd(client: ClientBase, head: Head): Promise<number> {
  const { tenantId, length } = head
  const drift = await countEntryErrors(client, head, { from: Math.max(0, length - tileWidth) })
  const subtrees: Buffer[] = []
  for (const { level, place, count } of getStoredHashes({ from: 0, to: length })) {
    const { rows } = await client.query<{ hash: Buffer }>(
      level === 0
        ? 'SELECT leaf AS hash FROM journal WHERE tenant_id = $1 AND sequence > $2 AND sequence <= $2::bigint + $3 ORDER BY sequence'
        : 'SELECT hash FROM journal_nodes WHERE tenant_id = $1 AND level = $4 AND place >= $2 AND place < $2::bigint + $3 ORDER BY place',
      level === 0 ? [tenantId, place, count] : [tenantId, place, count, level],
    )
    if (rows.length !== count) return drift + 1
    subtrees.push(computeCompleteSubtreeRoot(rows.map(({ hash }) => hash)))
  }
  return drift + (computeRoot(head.frontier).equals(computeRoot(subtrees)) ? 0 : 1)
}

/** Returns the number of errors in the journal entries after `from`: gaps, wrong rows and missing entries. */
async function countEntryErrors(
  client: ClientBase,
  { tenantId, length }: Head,
  { from, onEntry = () => {} }: { from: number; onEntry?: (entry: string) => void },
): Promise<number> {
  let errors = 0
  let before: Row | undefined
  for await (const row of readJournalRows(client, tenantId, from)) {
    errors += row.sequence - (before?.sequence ?? from) - 1
    errors += countRowErrors(row, before)
    onEntry(row.entry)
    before = row
  }
  return errors + Math.abs(length - (before?.sequence ?? from))
}

/** Returns the number of errors in a journal row: in its event, its leaf hash and its time. */
function countRowErrors(row: Row, previous: Row | undefined): number {
  const isLeaf = row.leaf.equals(hashLeaf(row.entry))
  const isLater = !previous || row.occurred_at >= previous.occurred_at
  return Number(!isValidEvent(row)) + Number(!isLeaf) + Number(!isLater)
}

function isValidEvent({ entry, sequence, event_id, type, occurred_at }: Row): boolean {
  try {
    const event = JSON.parse(entry)
    const { data } = event
    return toCanonicalJson({ data, event_id, occurred_at: occurred_at.toISOString(), sequence, type }) === entry
  } catch {
    return false
  }
}

async function* readJournalRows(client: ClientBase, tenantId: string, afterSequence: number): AsyncGenerator<Row> {
  for (let after = afterSequence; ; ) {
    const { rows } = await client.query<Row>(
      `SELECT sequence::float8, event_id, type, occurred_at, entry, leaf FROM journal
       WHERE tenant_id = $1 AND sequence > $2 ORDER BY sequence LIMIT ${rowsAtOnce}`,
      [tenantId, after],
    )
    yield* rows
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)!.sequence
  }
}

async function readJournalNodes(client: ClientBase, tenantId: string): Promise<Map<string, Buffer>> {
  const { rows } = await client.query<{ level: number; place: string; hash: Buffer }>(
    'SELECT level, place, hash FROM journal_nodes WHERE tenant_id = $1',
    [tenantId],
  )
  return new Map(rows.map(({ level, place, hash }) => [`${level}/${place}`, hash]))
}

/** Recomputes a journal's Merkle tree leaf by leaf, and calls `onNode` for each node that must be stored. */
class Tree {
  readonly frontier: Buffer[] = []
  #length = 0

  constructor(private readonly onNode: (level: number, place: number, hash: Buffer) => void) {}

  addLeaf(leaf: Buffer): void {
    let node = leaf
    let place = this.#length++
    for (let height = 1; place % 2 === 1; height++) {
      node = computeCompleteSubtreeRoot([this.frontier.pop()!, node])
      place = Math.floor(place / 2)
      if (height % 8 === 0) this.onNode(height / 8, place, node)
    }
    this.frontier.push(node)
  }
}
