import { suggestionList } from 'graphql/jsutils/suggestionList.js'
import type { FieldFault } from '../errors.js'

// Each is told twice, in the message and in the details, and kept in the call's log.
const mostToldFaults = 50

/** A fault for each name that is not among the known ones, with the nearest of those: at most 50. */
export function unknownNames(names: Iterable<string>, known: readonly string[], what: string): FieldFault[] {
  const faults: FieldFault[] = []
  for (const name of new Set(names)) {
    if (known.includes(name)) continue
    if (faults.length >= mostToldFaults) break
    faults.push({ field: name.slice(0, 100), message: `is not ${what}${hint(name, known)}` })
  }
  return faults
}

function hint(name: string, known: readonly string[]): string {
  const [nearest] = suggestionList(name.slice(0, 100), known)
  if (nearest !== undefined) return `; did you mean '${nearest}'?`
  return known.length > 0 && known.length <= 15 ? `; known: ${known.join(', ')}` : ''
}
