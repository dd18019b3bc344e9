/** Rules for an upload link, from `GET /upload/{token}`. The client checks them before an upload. */
export interface LinkRules {
  allowed_extensions: string[]
  max_size_mb: number
  max_files: number
  /** Number of files that the link still accepts. */
  remaining: number
  expires_at: string
  display_name: string
}

/** Error from a failed upload or request. The component itself creates the codes `network_error` and `unreadable`. */
export interface UploadError {
  code: string
  message: string
}

const megabyte = 1_048_576

const codes: Record<number, string> = { 403: 'forbidden', 404: 'not_found', 413: 'size_exceeded', 429: 'rate_limited' }

/** Parses an error response. A response to a HEAD request has no body, and a proxy can send a body in another format. */
export function parseError(text: string, status: number): UploadError {
  try {
    const { message, error } = JSON.parse(text) as { message: string; error: { code: string } }
    return { code: error.code, message }
  } catch {
    const code = status >= 500 ? 'overloaded' : (codes[status] ?? 'unknown')
    return { code, message: `The service returned an unexpected response with status ${status}. Try again later.` }
  }
}

export const getExtension = (name: string): string => /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''

export const getMaxBytes = ({ max_size_mb: megabytes }: LinkRules): number => megabytes * megabyte

export const acceptsPhotos = ({ allowed_extensions: allowed }: LinkRules): boolean =>
  ['jpg', 'jpeg', 'heic', 'png', 'webp'].some((extension) => allowed.includes(extension))

/** Removes the query, the fragment and trailing slashes, so that paths can be appended to the URL. */
export function toLinkUrl(url: string, base: string): string {
  const { origin, pathname } = new URL(url, base)
  return origin + pathname.replace(/\/+$/, '')
}
