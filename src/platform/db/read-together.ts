import type { Queries } from './queries.js'
import { readings } from './reading.js'

interface Statement {
  name: string
  text: string
  values: unknown[]
}

/**
 * Reads that concurrent calls make: the same one, asked for several times in one turn of the event loop, is one statement, begun when all
 * have asked. A tenant's clients mostly want the same first page. Nothing is kept for a later call; the rows are not to be changed.
 */
export class ReadTogether {
  readonly #database: Queries
  readonly #asked = new Map<string, Promise<object[]>>()

  constructor(database: Queries) {
    this.#database = database
  }

  rows<Row extends object>(statement: Statement): Promise<Row[]> {
    // Where a replica may serve them, each request says how old its rows may be.
    if (readings.getStore()) return this.#ask(statement)
    const key = `${statement.name} ${JSON.stringify(statement.values)}`
    const asked = this.#asked.get(key) ?? this.#begin(key, statement)
    return asked as Promise<Row[]>
  }

  #begin(key: string, statement: Statement): Promise<object[]> {
    const rows = new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#asked.delete(key)
      return this.#ask(statement)
    })
    this.#asked.set(key, rows)
    return rows
  }

  async #ask<Row extends object>(statement: Statement): Promise<Row[]> {
    return (await this.#database.query<Row>(statement)).rows
  }
}
