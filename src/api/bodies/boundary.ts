// As clients write it: how else it may be written is for a parser to say.
const plain = /^multipart\/form-data;\s*boundary=("?)([\w'()+,./:=?-]+)\1$/i

/** What ends each part of such a form; undefined where that takes a parser. */
export function boundaryOf(contentType: string): Buffer | undefined {
  const name = plain.exec(contentType)?.[2]
  return name === undefined ? undefined : Buffer.from(`\r\n--${name}`)
}

/** How many of the first bytes are content for certain: those before a boundary, or before what the next chunk may make one. */
export function contentIn(chunk: Buffer, boundary: Buffer): number {
  const found = chunk.indexOf(boundary)
  return found === -1 ? openEnd(chunk, boundary) : found
}

/** Where it ends as a boundary begins; its length, where it does not. */
export function openEnd(chunk: Buffer, boundary: Buffer): number {
  for (let at = chunk.indexOf(13, Math.max(0, chunk.length - boundary.length + 1)); at !== -1; at = chunk.indexOf(13, at + 1))
    if (boundary.compare(chunk, at, chunk.length, 0, chunk.length - at) === 0) return at
  return chunk.length
}
