/** A multipart body part that may be malformed. */
export interface Part {
  name?: string
  filename?: string
  content: string | Uint8Array
  /** Overrides the Content-Disposition built from name and filename. */
  disposition?: string
  headers?: string[]
}

/** Builds a multipart/form-data body with exactly these parts. */
export function createMultipartBody(parts: Part[], boundary = 'b0undary'): { body: Buffer; headers: Record<string, string> } {
  const chunks: (string | Uint8Array)[] = []
  for (const { name, filename, content, disposition, headers = [] } of parts) {
    const usual = `form-data${name === undefined ? '' : `; name="${name}"`}${filename === undefined ? '' : `; filename="${filename}"`}`
    chunks.push(`--${boundary}\r\nContent-Disposition: ${disposition ?? usual}\r\n`)
    for (const header of headers) chunks.push(`${header}\r\n`)
    chunks.push('\r\n', content, '\r\n')
  }
  chunks.push(`--${boundary}--\r\n`)
  return {
    body: Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as string))),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}
