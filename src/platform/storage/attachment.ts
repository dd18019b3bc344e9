import contentDisposition from 'content-disposition'

/**
 * `Content-Disposition` that offers a file for saving under its name (RFC 6266): whole in `filename*`, and in plain ASCII for
 * those who only read `filename`, since bytes beyond it mean something else to everyone that a header passes through.
 */
export const attachment = (filename: string): string =>
  contentDisposition(filename, { type: 'attachment', fallback: filename.replace(/[^\x20-\x7e]/gu, '?') })
