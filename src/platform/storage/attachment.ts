import contentDisposition from 'content-disposition'

/** Returns the `Content-Disposition` header of a download (RFC 6266), with an ASCII fallback for old clients. */
export const createAttachmentHeader = (filename: string): string =>
  contentDisposition(filename, { type: 'attachment', fallback: filename.replace(/[^\x20-\x7e]/gu, '?') })
