import { FormatError } from '../../format-error.js'
import type { OleContainer } from './container.js'
import { isEncryptedPresentation } from './presentation.js'
import { isEncryptedWord } from './word.js'
import { isEncryptedWorkbook } from './workbook.js'

const encryptedStreams = ['EncryptedPackage', 'EncryptedSummary', 'EncryptedSummaryInfo']

const byProgram: Record<string, (container: OleContainer) => boolean> = {
  Word: isEncryptedWord,
  Excel: isEncryptedWorkbook,
  PowerPoint: isEncryptedPresentation,
}

/**
 * Returns the name of the encrypted stream, or of the program whose document is encrypted ([MS-OFFCRYPTO]). Returns undefined if
 * nothing is encrypted.
 */
export function detectOleEncryption(container: OleContainer): string | undefined {
  return (
    encryptedStreams.find((name) => container.findStream(name)) ??
    Object.keys(byProgram).find((program) => returnFalseOnFormatError(() => byProgram[program]!(container)))
  )
}

function returnFalseOnFormatError(test: () => boolean): boolean {
  try {
    return test()
  } catch (error) {
    if (error instanceof FormatError) return false
    throw error
  }
}
