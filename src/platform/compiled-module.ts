/** A module of ours as compiled, by its path below `src`: workers are started from there, also where a test runs the source. */
export const compiled = (path: string): URL => new URL(`../../dist/${path}.js`, import.meta.url)
