import sharp from 'sharp'
import { DeadlineExceeded, type ReaderLimits } from '../format.js'
import { PdfEngine } from '../pdf/engine.js'
import type { RandomAccessSource } from '../random-access-source.js'

sharp.cache(false)
sharp.concurrency(1)
// libvips selects the decoder by the content, and has decoders that call other programs or fetch linked files.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map((decoder) => `VipsForeignLoad${decoder}`),
})

const maxPixels = 100_000_000
const quality = 80
/** Maximum width and height of a WebP image. */
const maxWebpSize = 16_383

export interface PreviewRequest {
  /** Kind of file: an image that libvips decodes, or a PDF. */
  kind: 'image' | 'pdf'
  /** Maximum width and height in pixels. Small images are not enlarged. */
  size: number
  /** Page of a PDF, counted from 1. */
  page: number
}

/** A WebP image without metadata, or the reason why the file has none. */
export type Preview = { image: Uint8Array; width: number; height: number; pages: number } | { problem: string }

/**
 * Renders an image or a page of a PDF. Run it in a process of its own: a malicious image can crash libvips, which is native code. PDFium
 * runs no scripts of the PDF.
 */
export async function renderPreview(
  source: RandomAccessSource,
  { kind, size, page }: PreviewRequest,
  limits: ReaderLimits,
): Promise<Preview> {
  const box = Math.min(size, maxWebpSize)
  try {
    return kind === 'pdf' ? await renderPdf(source, { size: box, page }, limits) : await renderImage(source, box, limits)
  } catch (error) {
    if (error instanceof DeadlineExceeded || isTimeout(error)) return { problem: 'rendering it takes too long' }
    return { problem: kind === 'pdf' ? 'PDFium cannot render it' : 'libvips cannot decode it' }
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && /timeout: \d+%/.test(error.message)

async function renderImage(source: RandomAccessSource, size: number, limits: ReaderLimits): Promise<Preview> {
  const seconds = Math.max(1, Math.ceil((limits.deadline - Date.now()) / 1000))
  const { data, info } = await sharp(source.whole(source.size), {
    failOn: 'none',
    limitInputPixels: maxPixels,
    sequentialRead: true,
  })
    .timeout({ seconds })
    .autoOrient()
    .resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true })
    .webp({ quality })
    .toBuffer({ resolveWithObject: true })
  return { image: data, width: info.width, height: info.height, pages: 1 }
}

async function renderPdf(
  source: RandomAccessSource,
  { size, page }: { size: number; page: number },
  limits: ReaderLimits,
): Promise<Preview> {
  // A new engine for each file, so that no state of one tenant's file can appear in another's preview.
  const engine = await PdfEngine.start()
  const { document, password } = engine.open(source, limits)
  if (!document) return { problem: password ? 'it requires a password' : 'PDFium cannot open it' }
  const pages = engine.pageCount(document)
  if (page > pages) return { problem: `it has ${pages} ${pages === 1 ? 'page' : 'pages'}` }
  const rendered = engine.renderPage(document, page - 1, size)
  if (!rendered) return { problem: `page ${page} cannot be rendered` }
  const { pixels, width, height } = rendered
  const image = await sharp(pixels, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .webp({ quality })
    .toBuffer()
  return { image, width, height, pages }
}
