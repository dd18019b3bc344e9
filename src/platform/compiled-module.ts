/** Returns the URL of the compiled version of the module at `path` in `src`. Workers load compiled code, even in tests. */
export const getCompiledModuleUrl = (path: string): URL => new URL(`../../dist/${path}.js`, import.meta.url)
