import { fetchPreview } from './preview.js'

const maxThumbnails = 300
const maxConcurrentRequests = 4

/** Thumbnail URLs by file id, least recently used first. Undefined means that the file has no thumbnail. */
const thumbnails = new Map<string, Promise<string | undefined>>()
const waitingRequests: (() => void)[] = []
let activeRequests = 0

/** Loads a thumbnail from the cache or the service. The number of parallel requests is limited. */
export function loadThumbnail(fileId: string): Promise<string | undefined> {
  const known = thumbnails.get(fileId)
  thumbnails.delete(fileId)
  const thumbnail = known ?? requestThumbnail(fileId)
  thumbnails.set(fileId, thumbnail)
  const [oldest] = thumbnails
  if (thumbnails.size > maxThumbnails && oldest) {
    thumbnails.delete(oldest[0])
    void oldest[1].then((url) => url && URL.revokeObjectURL(url))
  }
  return thumbnail
}

async function requestThumbnail(fileId: string): Promise<string | undefined> {
  if (activeRequests >= maxConcurrentRequests) await new Promise<void>((resolve) => waitingRequests.push(resolve))
  activeRequests++
  try {
    const preview = await fetchPreview(fileId, 'thumbnail')
    return 'imageUrl' in preview ? preview.imageUrl : undefined
  } catch {
    // Ignore errors, because the list shows the file type icon if there is no thumbnail.
    return undefined
  } finally {
    activeRequests--
    waitingRequests.shift()?.()
  }
}
