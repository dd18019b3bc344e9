import { LRUCache } from 'lru-cache'
import type { Attempt } from '../../access/admission.js'
import { TenantSlots } from '../../access/concurrency.js'
import type { PreviewRenderer } from '../../inspection/previews/preview-renderer.js'
import { AssayError } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { decodeTextStart } from '../../platform/text.js'
import { megabyte } from '../../platform/units.js'
import type { FileService } from '../files/file.service.js'
import type { FilePreview, FilePreviewArgs, PreviewSize } from './preview.types.js'

const pixels: Record<PreviewSize, number> = { thumbnail: 96, large: 1280 }
/** Maximum size in bytes of a file whose preview is rendered. */
const maxRenderedBytes = 32 * megabyte
const maxTextBytes = 64 * 1024
const maxCacheBytes = 16 * megabyte
/** Time limit for rendering a preview, including the time to start a worker. */
const maxWaitMs = 60_000
/** Time for which a failed rendering is remembered, so that the file is not read again. */
const problemTtlMs = 10 * 60_000

type File = Awaited<ReturnType<FileService['get']>>
type RenderedPreview = Awaited<ReturnType<PreviewRenderer['render']>>
type Kind = 'image' | 'pdf' | 'text'

interface Dependencies {
  files: FileService
  storage: Pick<BlobStorage, 'open'>
  /** Opens a file for a sandboxed process. Returns undefined if the content is missing or has changed. */
  contents: { open(file: File): Promise<{ content: Content; dispose(): Promise<void> } | undefined> }
  renderer: PreviewRenderer
}

interface RenderRequest {
  file: File
  kind: 'image' | 'pdf'
  size: PreviewSize
  page: number
}

/** Renders previews of stored files. File contents are immutable, so rendered images can be cached. */
export class PreviewService {
  readonly #slots = new TenantSlots('previews', { inAll: 16, byTenant: 8 })
  readonly #rendered = new LRUCache<string, RenderedPreview, RenderRequest>({
    maxSize: maxCacheBytes,
    sizeCalculation: (rendered) => 512 + ('image' in rendered ? rendered.image.length : 0),
    fetchMethod: async (_key, _stale, { context, options }) => {
      const rendered = await this.#slots.run(context.file.tenantId, () => this.#renderPreview(context))
      if ('problem' in rendered) options.ttl = problemTtlMs
      return rendered
    },
  })

  constructor(private readonly parts: Dependencies) {}

  /** Returns a preview of a file. Throws 404 if the file has no preview, and 403 if it is quarantined. */
  async get(attempt: Attempt, args: FilePreviewArgs): Promise<FilePreview> {
    const file = await this.parts.files.get(attempt, args.fileId)
    const kind = getPreviewKind(file.contentType)
    if (!kind) throw createNoPreviewError(file, `files of type ${file.contentType} have no preview`)
    if (kind === 'text') return this.#createTextPreview(file)
    if (file.sizeBytes > maxRenderedBytes)
      throw createNoPreviewError(file, `the file is larger than ${maxRenderedBytes / megabyte} MiB`)
    const { fileId, size } = args
    const page = kind === 'pdf' ? args.page : 1
    const context = { file, kind, size, page }
    const rendered = await this.#rendered.forceFetch([file.tenantId, fileId, size, page].join('/'), { context })
    if ('problem' in rendered) throw createNoPreviewError(file, rendered.problem)
    const { image, width, height, pages } = rendered
    const data = Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString('base64')
    return { ...empty, fileId, contentType: 'image/webp', image: data, width, height, pageCount: pages }
  }

  async #renderPreview({ file, kind, size, page }: RenderRequest): Promise<RenderedPreview> {
    const opened = await this.parts.contents.open({ ...file, checksum: file.checksum.replace(/^sha256:/, '') })
    if (!opened) return { problem: damaged }
    try {
      const request = { kind, size: pixels[size], page, owner: file.tenantId }
      // Rendering ignores the request's signal, because concurrent requests for the same preview share its result.
      return await this.parts.renderer.render(opened.content, request, AbortSignal.timeout(maxWaitMs))
    } finally {
      await opened.dispose()
    }
  }

  async #createTextPreview(file: File): Promise<FilePreview> {
    const { fileId, sizeBytes } = file
    const end = Math.min(sizeBytes, maxTextBytes) - 1
    const bytes = end < 0 ? [] : await this.#readStart(file, end)
    const text = decodeTextStart(Buffer.concat(bytes))
    return { ...empty, fileId, contentType: 'text/plain; charset=utf-8', text, isTruncated: sizeBytes > maxTextBytes }
  }

  async #readStart(file: File, end: number): Promise<Buffer[]> {
    try {
      return await (await this.parts.storage.open(file.blobPath, { start: 0, end })).toArray()
    } catch (error) {
      // The store's error contains the blob's internal path, so clients must not receive it.
      if (error instanceof AssayError && error.code === 'not_found') throw createNoPreviewError(file, damaged)
      throw error
    }
  }
}

const damaged = 'the stored content is missing or damaged'
const empty = { image: null, text: null, width: null, height: null, pageCount: 1, isTruncated: false }

const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/tiff'])
const textTypes = /^(text\/|application\/(json|xml|x-ndjson|jsonl|yaml|x-yaml|toml|sql)$|.+\+(json|xml)$)/

function getPreviewKind(contentType: string): Kind | undefined {
  const type = contentType.split(';')[0]!.trim()
  if (imageTypes.has(type)) return 'image'
  if (type === 'application/pdf') return 'pdf'
  return textTypes.test(type) ? 'text' : undefined
}

const createNoPreviewError = ({ fileId }: File, reason: string) =>
  new AssayError('not_found', `File '${fileId}' has no preview: ${reason}. Download the file instead.`, {
    details: { file: fileId },
  })
