/** Source of an upload: a path (Node.js only), a Blob or File, bytes, or a stream of bytes. */
export type UploadSource = string | URL | Blob | Uint8Array | ReadableStream<Uint8Array>

/** File to upload. A Blob can be read again for a retry, a stream cannot. */
export interface OpenSource {
  content: Blob | ReadableStream<Uint8Array>
  filename: string
  size: number | undefined
}

/** Opens a source. Throws a TypeError if neither the source nor `filename` provides a name. */
export async function openSource(source: UploadSource, filename: string | undefined): Promise<OpenSource> {
  if (typeof source === 'string' || source instanceof URL) {
    // Imported on demand, so that bundles for browsers can exclude these modules.
    const [{ openAsBlob }, { basename }] = await Promise.all([import('node:fs'), import('node:path')])
    const content = await openAsBlob(source)
    return { content, filename: filename ?? basename(source instanceof URL ? source.pathname : source), size: content.size }
  }
  const content = source instanceof Uint8Array ? new Blob([source as Uint8Array<ArrayBuffer>]) : source
  const name = filename ?? ('name' in content ? (content.name as string) : undefined)
  if (!name) throw new TypeError('The source has no name. Set `filename`: its extension determines how the file is validated.')
  return { content, filename: name, size: content instanceof Blob ? content.size : undefined }
}
