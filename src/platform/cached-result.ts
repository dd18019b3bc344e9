/** Returns a function that calls `load` once and caches the result. A failure is not cached, so the next call tries again. */
export function cacheUntilFailure<T>(load: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined
  return () => {
    cached ??= load().catch((error) => {
      cached = undefined
      throw error
    })
    return cached
  }
}
