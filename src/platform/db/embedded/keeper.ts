import { setTimeout as sleep } from 'node:timers/promises'
import type { EmbeddedServer } from './server.js'

// After this many failed restarts or short runs, another restart would not help.
const maxFailures = 5
const shortRunMs = 30_000
// Doubled each time. The remaining processes of a killed server prevent a start until they detect its end.
const pauseMs = 1000

/** Starts a server, and restarts it at the same address if it ends unexpectedly, for example if the kernel kills it for its memory. */
export async function keepRunning(
  start: (socketFolder?: string) => Promise<EmbeddedServer>,
  say: (message: string) => void,
): Promise<{ url: string; lost: Promise<void>; stop(): Promise<void> }> {
  let server = await start()
  const stopping = new AbortController()
  const supervise = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      const startedAt = Date.now()
      await server.exited
      if (Date.now() - startedAt > shortRunMs) failures = 0
      if (stopping.signal.aborted || failures === maxFailures) return
      try {
        server = await start(server.socketFolder)
        say('PostgreSQL stopped unexpectedly and was restarted.')
      } catch (error) {
        say((error as Error).message)
        await sleep(pauseMs * 2 ** failures, undefined, { signal: stopping.signal }).catch(() => {})
      }
    }
  }
  const supervision = supervise()
  return {
    url: server.url,
    lost: supervision.then(() => (stopping.signal.aborted ? new Promise<void>(() => {}) : undefined)),
    stop: async () => {
      stopping.abort()
      await server.stop()
      // A restart may have been in progress.
      await supervision
      await server.stop()
    },
  }
}
