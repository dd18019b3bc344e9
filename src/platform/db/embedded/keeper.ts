import { setTimeout as sleep } from 'node:timers/promises'
import type { EmbeddedServer } from './server.js'

export interface KeptServer {
  url: string
  /** Resolves when the server ended by itself and was given up. */
  lost: Promise<void>
  stop(): Promise<void>
}

// Backends that outlive their killed server keep the next one from starting, until they notice.
const pauseMs = 500
const mostAttempts = 60
// Ending as often as this right after its start, it would do so for ever.
const briefMs = 30_000
const mostBriefLives = 5

/**
 * A server that is started again, at the same address, when it ends by itself: killed by the kernel for its memory, say. What it
 * had committed it recovers, and callers meet an outage of a few seconds.
 */
export async function keepRunning(
  start: (socketFolder?: string) => Promise<EmbeddedServer>,
  say: (what: string) => void,
): Promise<KeptServer> {
  let server = await start()
  const { url, socketFolder } = server
  let stopping = false

  const startAgain = async (): Promise<boolean> => {
    for (let attempt = 1; !stopping; attempt++) {
      try {
        server = await start(socketFolder)
        return true
      } catch (error) {
        if (attempt === mostAttempts) {
          say((error as Error).message)
          return false
        }
        await sleep(pauseMs)
      }
    }
    return true
  }

  const watch = async (): Promise<void> => {
    for (let briefLives = 0; ; ) {
      const startedAt = Date.now()
      await server.exited
      if (stopping) return
      briefLives = Date.now() - startedAt < briefMs ? briefLives + 1 : 0
      if (briefLives > mostBriefLives) return
      say('PostgreSQL ended by itself; it is started again…')
      if (!(await startAgain()) || stopping) return
      say('PostgreSQL runs again.')
    }
  }
  const watching = watch()

  return {
    url,
    lost: watching.then(() => (stopping ? new Promise<void>(() => {}) : undefined)),
    stop: async () => {
      stopping = true
      await server.stop()
      // One that was just being started is stopped as well.
      await watching
      await server.stop()
    },
  }
}
