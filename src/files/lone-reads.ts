import type { Attempt } from '../admission/attempt.js'
import type { Database } from '../db/client.js'
import type { Entry } from '../ledger/entry.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Statement } from '../ledger/statement.js'

interface Means<Row> {
  /** The file that the call is about. */
  fileId?: string | null
  /** Whether the rows show that the call was recorded; what else was, it adds to the entry. */
  isRecorded?: (rows: Row[], entry: Entry) => boolean
}

/** Look-ups by the statement that records their call, where calls come one at a time: one round trip and not two. */
export class LoneReads {
  readonly #db: Database
  readonly #ledger: Ledger

  constructor(db: Database, ledger: Ledger) {
    this.#db = db
    this.#ledger = ledger
  }

  /** Whether it is worth the attempt. A replica records nothing. */
  get areUseful(): boolean {
    return this.#ledger.isAlone && !this.#db.replica
  }

  /** What is read; undefined where the call was not recorded, so that both are still to be done. */
  async rows<Row extends object>(
    attempt: Attempt,
    reading: (entry: Entry) => Statement,
    { fileId = null, isRecorded }: Means<Row> = {},
  ): Promise<Row[] | undefined> {
    const { call } = attempt.succeed()
    const entry = { call: call && { ...call, fileId } }
    const rows = call && (await this.#ledger.read<Row>(entry, reading, isRecorded && ((found) => isRecorded(found, entry))))
    if (!rows) attempt.reopen()
    return rows
  }
}
