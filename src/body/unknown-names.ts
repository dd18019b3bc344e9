import { suggestionList } from 'graphql/jsutils/suggestionList.js'
import type { FieldFault } from '../errors.js'

// Each stands in the message and in the details, and is kept in the call's log.
const mostFaults = 50

/** A fault for each name that is not among the known ones, with the nearest of those: at most 50. */
export function unknownNames(names: Iterable<string>, known: readonly string[], what: string): FieldFault[] {
  const faults: FieldFault[] = []
  for (const name of new Set(names)) {
    if (known.includes(name)) continue
    if (faults.length >= mostFaults) break
    // The whole list once, however many names are wrong.
    const hint = nearest(name, known) ?? (faults.length === 0 ? among(known) : '')
    faults.push({ field: name.slice(0, 100), message: `is not ${what}${hint}` })
  }
  return faults
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const [first] = suggestionList(name.slice(0, 100), known)
  return first === undefined ? undefined : `; did you mean '${first}'?`
}

const among = (known: readonly string[]): string => (known.length > 0 && known.length <= 15 ? `; known: ${known.join(', ')}` : '')
