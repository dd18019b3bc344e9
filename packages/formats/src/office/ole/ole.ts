import { createValidVerdict, type FormatReader } from '../../format.js'
import { catchFormatError, createDamageError, FormatError } from '../../format-error.js'
import { OleContainer } from './container.js'
import type { OleEntry } from './directory.js'
import type { OleFacts } from './facts.js'
import { isPreOleExcelFile, isPreOleWordFile } from './pre-ole-formats.js'
import { checkPresentation } from './presentation.js'
import { checkWordDocument } from './word.js'
import { checkWorkbook } from './workbook.js'

export { listOleStreams } from './container.js'
export type { OleEntry } from './directory.js'

export type OleKind = 'doc' | 'xls' | 'ppt'

const mainStreams: Record<OleKind, (container: OleContainer) => OleFacts> = {
  doc: checkWordDocument,
  xls: checkWorkbook,
  ppt: checkPresentation,
}

/** Checks Word, Excel and PowerPoint files from Office 2003 and earlier. All streams must be intact and the main stream valid. */
export const createOleReader =
  (kind: OleKind): FormatReader =>
  (source, limits) =>
    catchFormatError(() => {
      if (isPreOleExcelFile(source) || isPreOleWordFile(source))
        return createValidVerdict(['the format is older than compound files, so only its signature was checked'])
      const container = new OleContainer(source)
      container.openAllStreams(limits)
      const facts = mainStreams[kind](container)
      const notes = facts.encrypted ? ['the document is password-protected, so only its structure was checked'] : []
      return createValidVerdict([...notes, ...(facts.notes ?? [])], {
        main_stream: facts.stream,
        streams: container.entries.length,
        ...(facts.encrypted && { encrypted: true }),
        ...(facts.active?.length && { active_content: facts.active }),
      })
    })

/** Checks a password-protected docx, xlsx or pptx, which is a compound file with an encrypted package ([MS-OFFCRYPTO] 2.3). */
export const readEncryptedOoxml: FormatReader = (source, limits) =>
  catchFormatError(() => {
    const container = new OleContainer(source)
    const info = container.findStream('EncryptionInfo')
    const content = container.findStream('EncryptedPackage')
    if (!info || !content) throw createDamageError('the compound file contains no encrypted package')
    if (container.openStream(info).read(0, 8).length < 8) throw createDamageError('the encryption information is missing')
    container.openAllStreams(limits, content)
    const notes = ['the document is password-protected, so only its container was checked']
    // Without the password, damage to the ciphertext cannot be detected, but truncation can.
    if (!isStreamIntact(container, content)) notes.push('the encrypted content is shorter than declared')
    return createValidVerdict(notes, { streams: container.entries.length, encrypted: true })
  })

function isStreamIntact(container: OleContainer, entry: OleEntry): boolean {
  try {
    container.openStream(entry)
    return true
  } catch (error) {
    if (error instanceof FormatError && !error.isMalicious) return false
    throw error
  }
}
