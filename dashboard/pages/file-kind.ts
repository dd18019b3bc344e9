import type { IconName } from '../components/icon.js'

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/tiff']
const textTypes = /^(text\/|application\/(json|xml|x-ndjson|jsonl|yaml|x-yaml|toml|sql)$|.+\+(json|xml)$)/
const archiveTypes = /zip|tar|7z|rar|compressed|gzip|zstd|x-xz|bzip/

export type PreviewKind = 'image' | 'pdf' | 'table' | 'text' | 'audio' | 'video'

/** Returns the kind of preview for a content type, or undefined if no preview is possible. */
export function getPreviewKind(contentType: string): PreviewKind | undefined {
  const type = contentType.split(';')[0]!.trim()
  if (imageTypes.includes(type)) return 'image'
  if (type === 'application/pdf') return 'pdf'
  if (type === 'text/csv' || type === 'text/tab-separated-values') return 'table'
  if (textTypes.test(type)) return 'text'
  if (/^(audio|video)\//.test(type)) return type.startsWith('audio/') ? 'audio' : 'video'
  return undefined
}

const icons: Record<PreviewKind, IconName> = {
  image: 'image',
  pdf: 'files',
  table: 'table',
  text: 'text',
  audio: 'audio',
  video: 'video',
}

export function getTypeIcon(contentType: string): IconName {
  const kind = getPreviewKind(contentType)
  if (kind) return icons[kind]
  if (contentType.startsWith('image/')) return 'image'
  if (/spreadsheet|excel/.test(contentType)) return 'table'
  return archiveTypes.test(contentType) && !/document|epub/.test(contentType) ? 'archive' : 'files'
}
