import { signal } from '@preact/signals'

/** Whether the machine has a network, as the browser tells it. */
export const isOnline = signal(navigator.onLine)
for (const event of ['online', 'offline']) addEventListener(event, () => (isOnline.value = navigator.onLine))
