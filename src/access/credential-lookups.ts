import { Batcher } from '../platform/batcher.js'

const pauseMs = 5
const maxPauseMs = 50

/**
 * Batches database lookups for uncached credentials. Each query without a match delays the next one, so that a flood of guesses
 * causes only about twenty queries per second. A valid credential waits for at most two queries. If lookups are probably
 * guesses, `minPauseMs` sets a pause after every query.
 */
export function createCredentialBatcher<Credential, Match>(
  load: (credentials: readonly Credential[]) => Promise<readonly (Match | null)[]>,
  { minPauseMs = 0 } = {},
): Batcher<Credential, Match | null> {
  let misses = 0
  return new Batcher({
    run: load,
    getPauseMs: (found) => {
      misses = found.some((each) => each !== null) ? 0 : misses + 1
      return Math.max(minPauseMs, Math.min(maxPauseMs, misses * pauseMs))
    },
  })
}
