import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { PdfEngine } from './engine.js'
import { analyzePageTree } from './page-tree.js'
import { canFindRoot } from './root.js'

const maxOpenedPages = 24
const maxEngineBytes = 0x7fffffff
const headerWindow = 1024

let engine: PdfEngine | undefined

/**
 * Opens a PDF with PDFium, as Chrome does, but rejects files that PDFium can repair only by guessing. At least one page must open
 * unless the PDF requires a password.
 */
export const readPdf: FormatReader = async (source, limits) => {
  const start = source.read(0, headerWindow + 8).indexOf('%PDF-')
  if (start < 0) return createInvalidVerdict('the file has no PDF header in its first 1024 bytes')
  if (source.size > maxEngineBytes)
    return hasEndOfFileMarker(source)
      ? createValidVerdict(['only its structure was checked: larger than 2 GiB'])
      : createInvalidVerdict('the PDF is truncated: its end-of-file marker is missing')
  const { cycle, hiddenPage, activeContent } = analyzePageTree(source, limits)
  if (cycle) return createMaliciousVerdict('page_tree_cycle', `the PDF page tree is circular (at object ${cycle})`)
  const verdict = await checkDocument(source, { start, hiddenPage }, limits)
  if (activeContent.length > 0) verdict.evidence = { ...verdict.evidence, active_content: activeContent }
  return verdict
}

async function checkDocument(
  source: RandomAccessSource,
  { start, hiddenPage }: { start: number; hiddenPage: number | undefined },
  limits: ReaderLimits,
): Promise<FormatVerdict> {
  if (!engine?.isAlive || engine.hasGrown || engine.isOutOfMemory) engine = await PdfEngine.start()
  const running = engine
  let document = 0
  try {
    const opened = running.open(source, limits)
    document = opened.document
    if (opened.document === 0)
      return opened.password
        ? createValidVerdict(['the PDF is password-protected, so its pages were not checked'], { encrypted: true })
        : createInvalidVerdict("Chrome's PDF engine (PDFium) cannot open it")
    const rebuilt = running.wasRebuilt(document)
    if (rebuilt && hiddenPage !== undefined)
      return createInvalidVerdict(
        `the PDF's cross-reference table is damaged, and page object ${hiddenPage} has an invalid generation number`,
      )
    if (rebuilt && !canFindRoot(source, start, limits))
      return createInvalidVerdict("the PDF's cross-reference stream is damaged or truncated, and no trailer exists to repair it")
    return checkPages(running, document, limits)
  } catch (error) {
    if (error instanceof DeadlineExceeded) throw error
    if (running.isOutOfMemory) return createMaliciousVerdict('pdf_memory', 'opening the pages takes more memory than allowed')
    // A `WebAssembly.RuntimeError` or `RangeError` means that PDFium aborted or exhausted its memory.
    return createInvalidVerdict(
      `Chrome's PDF engine (PDFium) crashes on the file: ${(error instanceof Error ? error.message : String(error)).slice(0, 120)}`,
    )
  } finally {
    if (running.isAlive) closeDocumentIgnoringErrors(running, document)
  }
}

function checkPages(pdfEngine: PdfEngine, document: number, limits: ReaderLimits): FormatVerdict {
  const pages = pdfEngine.getPageCount(document)
  if (pages < 1) return createInvalidVerdict('the PDF has no pages', { pages: 0 })
  const step = Math.max(1, Math.floor(pages / maxOpenedPages))
  let searchedBytes = 0
  let opened = 0
  for (let index = 0; index < pages && searchedBytes < maxOpenedPages; index += step) {
    checkDeadline(limits)
    searchedBytes++
    if (pdfEngine.canLoadPage(document, index)) opened++
  }
  const evidence = { pages, pages_opened: opened }
  if (opened === 0) return createInvalidVerdict(`none of the ${pages} pages of the PDF can be opened`, evidence)
  return createValidVerdict(
    opened < searchedBytes ? [`${searchedBytes - opened} of the ${searchedBytes} checked pages cannot be opened`] : [],
    evidence,
  )
}

// Closing a damaged document may crash the engine, but does not change the verdict.
function closeDocumentIgnoringErrors(pdfEngine: PdfEngine, document: number): void {
  try {
    pdfEngine.close(document)
  } catch {
    pdfEngine.isAlive = false
  }
}

const hasEndOfFileMarker = (source: RandomAccessSource) => source.read(Math.max(0, source.size - 2048), 2048).includes('%%EOF')
