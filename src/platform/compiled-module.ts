/**
 * Returns the URL of a compiled module. `path` is relative to `src`. Workers load compiled code even if a test runs the source code.
 */
export const getCompiledModuleUrl = (path: string): URL => new URL(`../../dist/${path}.js`, import.meta.url)
