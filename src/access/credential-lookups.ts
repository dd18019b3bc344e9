import { Batcher } from '../platform/batcher.js'

const pauseMs = 5
const maxPauseMs = 50

/**
 * Looks up credentials that are not cached in this process. After a statement without a match, the next one waits to collect more lookups.
 * A flood of guesses therefore costs about twenty statements per second, and a valid credential among them waits for at most two.
 * `minPauseMs` is the pause after every statement, for lookups that are probably guesses.
 */
export function credentialLookups<Credential, Found>(
  load: (credentials: readonly Credential[]) => Promise<readonly (Found | null)[]>,
  { minPauseMs = 0 } = {},
): Batcher<Credential, Found | null> {
  let misses = 0
  return new Batcher({
    run: load,
    pauseMs: (found) => {
      misses = found.some((each) => each !== null) ? 0 : misses + 1
      return Math.max(minPauseMs, Math.min(maxPauseMs, misses * pauseMs))
    },
  })
}
