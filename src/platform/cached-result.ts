/** Returns a function that calls `load` once, and again after a failure. */
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
