import { signal } from '@preact/signals'

/** Public keys from `/.well-known/jwks.json` that verify receipts. */
export interface KeySet {
  text: string
  /** Origin of the service, or name of the file from which the keys were loaded. */
  source: string
}

const storageKey = 'assay.jwks'

/** Keys from a file that the user loaded or, by default, the keys of this service. Undefined until keys are loaded. */
export const keySet = signal<KeySet | undefined>(undefined)

/** Loads the keys of this service, or the keys from the last visit if the service is unreachable. */
export async function loadKeySet(): Promise<void> {
  const stored = localStorage.getItem(storageKey)
  try {
    const response = await fetch('/.well-known/jwks.json')
    if (!response.ok) throw new Error(`The service returned status ${response.status}.`)
    const text = await response.text()
    localStorage.setItem(storageKey, text)
    keySet.value = { text, source: location.origin }
  } catch {
    if (stored && !keySet.peek()) keySet.value = { text: stored, source: location.origin }
  }
}
