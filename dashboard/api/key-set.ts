import { signal } from '@preact/signals'

/** Public keys that verify receipts: `/.well-known/jwks.json` of a service. */
export interface KeySet {
  /** Text of the JSON Web Key Set. */
  text: string
  /** Origin of the service, or name of the file. */
  source: string
}

const storageKey = 'assay.jwks'

/** Keys that the user loaded from a file, otherwise those of this service. Undefined if they are not loaded yet. */
export const keySet = signal<KeySet | undefined>(undefined)

/** Loads the keys of this service. If it cannot be reached, uses those of the last visit. */
export async function loadKeySet(): Promise<void> {
  const stored = localStorage.getItem(storageKey)
  try {
    const response = await fetch('/.well-known/jwks.json')
    if (!response.ok) throw new Error(`The service returned ${response.status}.`)
    const text = await response.text()
    localStorage.setItem(storageKey, text)
    keySet.value = { text, source: location.origin }
  } catch {
    if (stored && !keySet.peek()) keySet.value = { text: stored, source: location.origin }
  }
}
