import { effect, signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'assay.theme'
const kept = localStorage.getItem(key)

/** What the viewer chose; `system` follows the machine. */
export const theme = signal<Theme>(themes.find((known) => known === kept) ?? 'system')

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value
    localStorage.setItem(key, theme.value)
  })
}
