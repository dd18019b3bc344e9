import { dashboardHeaders } from './client.js'

export type Preview = { imageUrl: string; pageCount: number } | { text: string; isTruncated: boolean }

export class NoPreviewError extends Error {}

const maxAttempts = 4

/** Requests a preview, and retries while the service is busy. If the preview is an image, the caller must revoke its URL. */
export async function fetchPreview(fileId: string, size: 'thumbnail' | 'large', page = 1): Promise<Preview> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`/api/v1/files/${fileId}/preview?size=${size}&page=${page}`, {
      headers: dashboardHeaders,
      credentials: 'same-origin',
    })
    if (response.ok) return toPreview(response)
    const isBusy = response.status === 429 || response.status === 503
    if (!isBusy || attempt === maxAttempts) {
      const body = (await response.json().catch(() => ({}))) as { message?: string }
      throw new NoPreviewError(body.message)
    }
    const seconds = Number(response.headers.get('Retry-After')) || 1
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

async function toPreview(response: Response): Promise<Preview> {
  if (response.headers.get('Content-Type') === 'image/webp')
    return {
      imageUrl: URL.createObjectURL(await response.blob()),
      pageCount: Number(response.headers.get('Preview-Pages')),
    }
  return { text: await response.text(), isTruncated: response.headers.get('Preview-Truncated') === 'true' }
}
