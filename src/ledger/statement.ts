/** A prepared statement, as `pg` takes it. */
export interface Statement {
  name: string
  text: string
  values: unknown[]
}

/** An entry that could not even be put into words for the database. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}
