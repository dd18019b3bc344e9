import type pg from 'pg'

export interface PoolLogger {
  warn(facts: object, message: string): void
}

export interface Queries {
  query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: T[]; rowCount: number | null }>
  /** Named statements are planned only once per connection. */
  query<T extends pg.QueryResultRow>(statement: {
    name: string
    text: string
    values: unknown[]
  }): Promise<{ rows: T[]; rowCount: number | null }>
}
