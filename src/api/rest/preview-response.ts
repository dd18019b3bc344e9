import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'

interface PreviewData {
  content_type: string
  image: string | null
  text: string | null
  page_count: number
  is_truncated: boolean
}

/**
 * Sends a preview. Browsers may cache it but must revalidate it before each use, because the file may be quarantined in the
 * meantime.
 */
export function sendPreview(response: ServerResponse, data: unknown): void {
  const { content_type, image, text, page_count, is_truncated } = data as PreviewData
  const body = image === null ? Buffer.from(text ?? '') : Buffer.from(image, 'base64')
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  const headers = {
    'Content-Type': content_type,
    'Content-Disposition': 'inline',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'private, no-cache',
    ETag: etag,
    'Preview-Pages': page_count,
    'Preview-Truncated': String(is_truncated),
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const isFresh = response.req.headers['if-none-match']?.split(/\s*,\s*/).includes(etag)
  if (isFresh) {
    response.statusCode = 304
    response.end()
    return
  }
  response.setHeader('Content-Length', body.length)
  response.end(body)
}
