import DataLoader from 'dataloader'
import type { Call } from '../../access/call.js'

/**
 * Loads a relation (such as 'File.context') for all rows of a request in one query. `load` returns the existing objects by id.
 * Missing objects become null. Each request has its own loader, so data of different tenants is never mixed.
 */
export function loadRelation<T>(
  call: Call,
  relation: string,
  id: string,
  load: (ids: readonly string[]) => Promise<Map<string, T>>,
): Promise<T | null> {
  const loader = call.getOrCreate(
    relation,
    () =>
      new DataLoader<string, T | null>(async (ids) => {
        const found = await load(ids)
        return ids.map((key) => found.get(key) ?? null)
      }),
  )
  return loader.load(id)
}
