/** What can be uploaded: a path (Node only), a Blob or File, bytes, or a stream of bytes. */
export type UploadSource = string | URL | Blob | Uint8Array | ReadableStream<Uint8Array>

/** The file to send: what can be opened again as a Blob, what cannot as a stream. */
export interface OpenSource {
  content: Blob | ReadableStream<Uint8Array>
  filename: string
  size: number | undefined
}

/** Opens a source; `filename` is needed where the source has no name. */
export async function openSource(source: UploadSource, filename: string | undefined): Promise<OpenSource> {
  if (typeof source === 'string' || source instanceof URL) {
    // Node's, which a browser's bundle leaves out.
    const [{ openAsBlob }, { basename }] = await Promise.all([import('node:fs'), import('node:path')])
    const content = await openAsBlob(source)
    return { content, filename: filename ?? basename(source instanceof URL ? source.pathname : source), size: content.size }
  }
  const content = source instanceof Uint8Array ? new Blob([source as Uint8Array<ArrayBuffer>]) : source
  const name = filename ?? ('name' in content ? (content.name as string) : undefined)
  if (!name) throw new TypeError('The source has no name: give `filename`, since the extension decides how a file is tested.')
  return { content, filename: name, size: content instanceof Blob ? content.size : undefined }
}
