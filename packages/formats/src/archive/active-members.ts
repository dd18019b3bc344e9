import { findOleActiveContent } from '../active-content.js'
import { detectOleType } from '../detect/ole.js'
import { DeadlineExceeded, type FormatVerdict, type ReaderLimits } from '../format.js'
import { createOleReader, type OleKind } from '../office/ole/ole.js'
import { analyzePageTree } from '../pdf/page-tree.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { findRtfActiveContent, findWebPageActiveContent } from '../text/active-text.js'
import { detectText } from '../text/text.js'
import { readSvg } from '../text/xml.js'

type SearchFunction = (source: RandomAccessSource, limits: ReaderLimits) => string[] | Promise<string[]>

const oleKinds = new Set<string>(['doc', 'xls', 'ppt'])

const searchOleFile: SearchFunction = async (source, limits) => {
  const type = detectOleType(source)
  const read = oleKinds.has(type) ? await createOleReader(type as OleKind)(source, limits) : undefined
  return [...findOleActiveContent(source), ...getActiveContent(read)]
}

const searchWebPage: SearchFunction = (source, limits) => {
  const detected = detectText(source)
  return detected ? findWebPageActiveContent(source, detected, limits) : []
}

const searchSvg: SearchFunction = async (source, limits) => getActiveContent(await readSvg(source, limits))

const getActiveContent = (verdict: FormatVerdict | undefined): string[] =>
  (verdict?.evidence?.active_content as string[] | undefined) ?? []

/**
 * Selects the function that searches a member for active content. Macro projects need no search, because their name is sufficient
 * evidence.
 */
export function selectSearchFunction(head: Buffer, name: string): SearchFunction | undefined {
  const start = head.toString('latin1')
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return /vbaProject\.bin$/i.test(name) ? undefined : searchOleFile
  if (start.includes('%PDF-')) return (source, limits) => analyzePageTree(source, limits).activeContent
  if (start.startsWith('{\\rtf')) return findRtfActiveContent
  if (/\.svg$/i.test(name) || /^\W{0,3}<svg[\s>]|^\W{0,3}<\?xml[^>]*>\s*<svg[\s>]/i.test(start)) return searchSvg
  return /\.(html?|xhtml|xht|mht|mhtml)$/i.test(name) || /<(!doctype\s+html|html)[\s>]/i.test(start) ? searchWebPage : undefined
}

/** Returns the active content of a member. A damaged member is not an error, because the archive itself is intact. */
export async function runSearch(source: RandomAccessSource, search: SearchFunction, limits: ReaderLimits): Promise<string[]> {
  try {
    return [...new Set(await search(source, limits))]
  } catch (error) {
    if (error instanceof DeadlineExceeded) throw error
    return []
  }
}
