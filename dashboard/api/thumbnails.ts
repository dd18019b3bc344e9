import { fetchPreview } from './preview.js'

const maxThumbnails = 300
const maxConcurrent = 4

/** Thumbnail URLs by file id, least recently used first. Undefined means that the file has no thumbnail. */
const loaded = new Map<string, Promise<string | undefined>>()
const waiting: (() => void)[] = []
let running = 0

/** Loads a file's thumbnail from the cache or the service, and limits the number of parallel requests. */
export function loadThumbnail(fileId: string): Promise<string | undefined> {
  const known = loaded.get(fileId)
  loaded.delete(fileId)
  const thumbnail = known ?? requestThumbnail(fileId)
  loaded.set(fileId, thumbnail)
  const [oldest] = loaded
  if (loaded.size > maxThumbnails && oldest) {
    loaded.delete(oldest[0])
    void oldest[1].then((url) => url && URL.revokeObjectURL(url))
  }
  return thumbnail
}

async function requestThumbnail(fileId: string): Promise<string | undefined> {
  if (running >= maxConcurrent) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    const preview = await fetchPreview(fileId, 'thumbnail')
    return 'imageUrl' in preview ? preview.imageUrl : undefined
  } catch {
    // Without a thumbnail, the list shows the file type icon.
    return undefined
  } finally {
    running--
    waiting.shift()?.()
  }
}
