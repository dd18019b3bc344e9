import DataLoader from 'dataloader'
import type { Call } from '../../access/call.js'

/**
 * A relation without a query per row: all that one request asks of one `relation` ('File.context') in one go. `load` gives what it found by id; what it
 * did not find is null. A request is one tenant's, so that its loaders are too.
 */
export function loadRelation<T>(
  call: Call,
  relation: string,
  id: string,
  load: (ids: readonly string[]) => Promise<Map<string, T>>,
): Promise<T | null> {
  const loader = call.once(
    relation,
    () =>
      new DataLoader<string, T | null>(async (ids) => {
        const found = await load(ids)
        return ids.map((key) => found.get(key) ?? null)
      }),
  )
  return loader.load(id)
}
