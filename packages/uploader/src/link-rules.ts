/** Rules of an upload link that a client can check before it uploads, as `GET /upload/{token}` returns them. */
export interface LinkRules {
  allowed_extensions: string[]
  max_size_mb: number
  max_files: number
  /** Number of files that the link still accepts. */
  remaining: number
  /** RFC 3339. */
  expires_at: string
  display_name: string
}

/** Reason why an upload or a request failed. `network_error` and `unreadable` do not come from the service. */
export interface UploadError {
  code: string
  message: string
}

const megabyte = 1_048_576

const codes: Record<number, string> = { 403: 'forbidden', 404: 'not_found', 413: 'size_exceeded', 429: 'rate_limited' }

/** Reads an error response. It has no body if the request was HEAD, and another body if a proxy sent it. */
export function parseError(text: string, status: number): UploadError {
  try {
    const { message, error } = JSON.parse(text) as { message: string; error: { code: string } }
    return { code: error.code, message }
  } catch {
    const code = status >= 500 ? 'overloaded' : (codes[status] ?? 'unknown')
    return { code, message: `The service returned status ${status}.` }
  }
}

export const getExtension = (name: string): string => /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''

export const getMaxBytes = ({ max_size_mb: megabytes }: LinkRules): number => megabytes * megabyte

export const acceptsPhotos = ({ allowed_extensions: allowed }: LinkRules): boolean =>
  ['jpg', 'jpeg', 'heic', 'png', 'webp'].some((extension) => allowed.includes(extension))

/** Removes query and fragment, so that paths can be appended. */
export function toLinkUrl(url: string, base: string): string {
  const { origin, pathname } = new URL(url, base)
  return origin + pathname.replace(/\/+$/, '')
}
