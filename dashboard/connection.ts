import { signal } from '@preact/signals'

export const isOnline = signal(navigator.onLine)
for (const event of ['online', 'offline']) addEventListener(event, () => (isOnline.value = navigator.onLine))

/**
 * Delays between the attempts to resume an interrupted upload. One attempt is not enough, because browsers may report a
 * connection before it works.
 */
export const retryDelaysMs = [500, 2_000, 5_000, 15_000, 30_000]
