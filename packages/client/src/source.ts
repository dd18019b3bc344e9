/** Content to upload: a path (not in browsers), a Blob or File, bytes, or a byte stream. */
export type UploadSource = string | URL | Blob | Uint8Array | ReadableStream<Uint8Array>

/** File to upload. A Blob can be read again for a retry, but a stream cannot. */
export interface OpenSource {
  content: Blob | ReadableStream<Uint8Array>
  filename: string
  size: number | undefined
}

/** Opens an upload source. Throws a TypeError if neither the source nor `filename` provides a name. */
export async function openSource(source: UploadSource, filename: string | undefined): Promise<OpenSource> {
  if (typeof source === 'string' || source instanceof URL) return openPath(source, filename)
  const content = source instanceof Uint8Array ? new Blob([source as Uint8Array<ArrayBuffer>]) : source
  const name = filename ?? ('name' in content ? (content.name as string) : undefined)
  if (!name)
    throw new TypeError(
      'The source has no name. Set `filename`, because its extension determines how the service validates the file.',
    )
  return { content, filename: name, size: content instanceof Blob ? content.size : undefined }
}

interface BuiltinModules {
  'node:fs': { openAsBlob(path: string | URL): Promise<Blob> }
  'node:fs/promises': { stat(path: string | URL): Promise<{ isFile(): boolean }> }
  'node:path': { basename(path: string): string }
}

async function openPath(path: string | URL, filename: string | undefined): Promise<OpenSource> {
  const process = (
    globalThis as { process?: { getBuiltinModule?<Name extends keyof BuiltinModules>(name: Name): BuiltinModules[Name] } }
  ).process
  // Browser bundlers reject `import('node:fs')`, so the module is loaded with `getBuiltinModule`, which Node.js, Bun and Deno
  // support.
  if (!process?.getBuiltinModule) throw new TypeError(`Browsers cannot open paths such as '${path}'. Pass a File or a Blob.`)
  // Errors from `openAsBlob` do not contain the path, so `stat` runs first and reports a missing file with its path.
  const stats = await process.getBuiltinModule('node:fs/promises').stat(path)
  if (!stats.isFile()) throw new TypeError(`'${path}' is not a file.`)
  const content = await process.getBuiltinModule('node:fs').openAsBlob(path)
  const lastSegment = process
    .getBuiltinModule('node:path')
    .basename(path instanceof URL ? decodeURIComponent(path.pathname) : path)
  return { content, filename: filename ?? lastSegment, size: content.size }
}
