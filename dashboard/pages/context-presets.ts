import type { IconName } from '../components/icon.js'
import { texts } from '../texts.js'

interface ContextPreset {
  /** Name of the preset, and suggested key for the new context. */
  key: 'images' | 'documents' | 'data' | 'any'
  title: string
  icon: IconName
  extensions: readonly string[]
  maxFileSizeMb: number
}

const images = ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'heic', 'tif', 'tiff', 'bmp']
const documents = ['pdf', 'docx', 'xlsx', 'pptx', 'odt', 'ods', 'odp', 'rtf', 'epub', 'txt', 'md']
const data = ['csv', 'tsv', 'json', 'jsonl', 'xml', 'yaml', 'parquet', 'xlsx', 'txt', 'zip', 'gz']
const media = ['mp3', 'wav', 'flac', 'ogg', 'm4a', 'mp4', 'mov', 'webm', 'mkv', 'avi']
const archives = ['7z', 'tar', 'bz2', 'xz', 'zst', 'rar']
const more = [
  'svg',
  'ico',
  'psd',
  'html',
  'css',
  'doc',
  'xls',
  'ppt',
  'log',
  'eml',
  'ics',
  'vcf',
  'ttf',
  'otf',
  'woff2',
  'sqlite',
]

/** Initial values for a new context. The user can change all of them. */
export const contextPresets: readonly ContextPreset[] = [
  { key: 'images', title: texts.contexts.presets.images, icon: 'image', extensions: images, maxFileSizeMb: 10 },
  { key: 'documents', title: texts.contexts.presets.documents, icon: 'files', extensions: documents, maxFileSizeMb: 25 },
  { key: 'data', title: texts.contexts.presets.data, icon: 'data', extensions: data, maxFileSizeMb: 100 },
  {
    key: 'any',
    title: texts.contexts.presets.any,
    icon: 'contexts',
    // A context requires explicit extensions, so this preset lists the common ones.
    extensions: [...new Set([...images, ...documents, ...data, ...media, ...archives, ...more])],
    maxFileSizeMb: 100,
  },
]
