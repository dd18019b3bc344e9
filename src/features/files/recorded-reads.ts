import type { Attempt } from '../../access/call.js'
import type { Reading } from '../../ledger/append.js'
import type { Entry } from '../../ledger/entry.js'
import type { Ledger } from '../../ledger/ledger.js'
import type { Database } from '../../platform/db/client.js'

interface Means<Row> {
  /** The file that the call is about. */
  fileId?: string | null
  /** Whether the rows show that the call was recorded; what else was, it adds to the entry. */
  isRecorded?: (rows: Row[], entry: Entry) => boolean
}

/** Look-ups by the statement that records their call, where calls come one at a time or read the same: one round trip and not two. */
export class RecordedReads {
  readonly #db: Database
  readonly #ledger: Ledger

  constructor(db: Database, ledger: Ledger) {
    this.#db = db
    this.#ledger = ledger
  }

  /** Whether it is worth the attempt for what no other call reads. */
  get areUseful(): boolean {
    return this.#ledger.isAlone
  }

  /** What is read; undefined where the call was not recorded, so that both are still to be done. A replica records nothing. */
  async rows<Row extends object>(
    attempt: Attempt,
    reading: Reading,
    { fileId = null, isRecorded }: Means<Row> = {},
  ): Promise<Row[] | undefined> {
    if (this.#db.replica) return undefined
    const { call } = attempt.succeed()
    const entry = { call: call && { ...call, fileId } }
    const rows = call && (await this.#ledger.read<Row>(entry, reading, isRecorded && ((found) => isRecorded(found, entry))))
    if (!rows) attempt.reopen()
    return rows
  }
}
