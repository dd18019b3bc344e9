import sharp from 'sharp'
import { DeadlineExceeded, type ReaderLimits } from '../format.js'
import { PdfEngine } from '../pdf/engine.js'
import type { RandomAccessSource } from '../random-access-source.js'

sharp.cache(false)
sharp.concurrency(1)
// Blocks all libvips decoders except those that are unblocked below, because some of them start other programs or fetch linked
// files.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map((decoder) => `VipsForeignLoad${decoder}`),
})

const maxPixels = 100_000_000
const quality = 80
/** Maximum width and height of a WebP image in pixels. */
const maxWebpSize = 16_383

export interface PreviewRequest {
  /** File kind: an image that libvips decodes, or a PDF. */
  kind: 'image' | 'pdf'
  /** Maximum width and height in pixels. Smaller images are not enlarged. */
  size: number
  /** Page number of a PDF, starting at 1. */
  page: number
}

/** Preview as a WebP image without metadata, or the reason why it could not be rendered. */
export type Preview = { image: Uint8Array; width: number; height: number; pages: number } | { problem: string }

/**
 * Renders an image or a PDF page. Call this function in a separate process, because a malicious image can crash libvips. PDFium
 * does not run scripts.
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
    if (error instanceof DeadlineExceeded || isTimeoutError(error)) return { problem: 'rendering takes too long' }
    return { problem: kind === 'pdf' ? 'PDFium cannot render the PDF' : 'libvips cannot decode the image' }
  }
}

const isTimeoutError = (error: unknown): boolean => error instanceof Error && /timeout: \d+%/.test(error.message)

async function renderImage(source: RandomAccessSource, size: number, limits: ReaderLimits): Promise<Preview> {
  const seconds = Math.max(1, Math.ceil((limits.deadline - Date.now()) / 1000))
  const { data, info } = await sharp(source.readAll(source.size), {
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
  // Starts a new engine per file, so that a preview can never contain data from another tenant's file.
  const engine = await PdfEngine.start()
  const { document, password } = engine.open(source, limits)
  if (!document) return { problem: password ? 'the PDF requires a password' : 'PDFium cannot open the PDF' }
  const pages = engine.getPageCount(document)
  if (page > pages) return { problem: `the PDF has only ${pages} ${pages === 1 ? 'page' : 'pages'}` }
  const rendered = engine.renderPage(document, page - 1, size)
  if (!rendered) return { problem: `page ${page} cannot be rendered` }
  const { pixels, width, height } = rendered
  const image = await sharp(pixels, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .webp({ quality })
    .toBuffer()
  return { image, width, height, pages }
}
