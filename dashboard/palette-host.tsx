import { signal, useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'

export const isPaletteOpen = signal(false)

const loadPalette = async () => (await import('./pages/palette.js')).Palette

/** Shows the palette. Its code loads when the palette is first opened, or two seconds after the page loads. */
export function PaletteHost() {
  const loaded = useSignal<{ Palette: ComponentType<{ onClose: () => void }> } | undefined>(undefined)
  useEffect(() => {
    const loadAndShowPalette = () =>
      void loadPalette().then(
        (Palette) => (loaded.value = { Palette }),
        () => (isPaletteOpen.value = false),
      )
    if (isPaletteOpen.value) return loadAndShowPalette()
    const timer = setTimeout(loadAndShowPalette, preloadDelayMs)
    return () => clearTimeout(timer)
  }, [isPaletteOpen.value])
  if (!isPaletteOpen.value || !loaded.value) return null
  const { Palette } = loaded.value
  return <Palette onClose={() => (isPaletteOpen.value = false)} />
}

const preloadDelayMs = 2_000
