import { signal } from '@preact/signals'

/** Whether the machine has a network, as the browser tells it. */
export const isOnline = signal(navigator.onLine)
for (const event of ['online', 'offline']) addEventListener(event, () => (isOnline.value = navigator.onLine))

/** What was lost is sent again after these: a browser says that it is on line before a network is there, and a service may be away for a moment. */
export const retryDelaysMs = [500, 2_000, 5_000, 15_000, 30_000]
