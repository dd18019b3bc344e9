import type pg from 'pg'

export interface PoolLogger {
  warn(facts: object, message: string): void
}

export interface Queries {
  query<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: T[]; rowCount: number | null }>
  /** Under a name: planned once on each connection. */
  query<T extends pg.QueryResultRow>(statement: {
    name: string
    text: string
    values: unknown[]
  }): Promise<{ rows: T[]; rowCount: number | null }>
}
