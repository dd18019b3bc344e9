import { effect, signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'assay.theme'
const storedTheme = localStorage.getItem(storageKey)

/** Selected theme. `system` follows the operating system. */
export const theme = signal<Theme>(themes.find((name) => name === storedTheme) ?? 'system')

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value
    localStorage.setItem(storageKey, theme.value)
  })
}
