import { createDamageError, createMaliciousError } from '../../format-error.js'
import type { OleContainer } from './container.js'
import type { OleFacts } from './facts.js'
import type { OleStream } from './stream.js'

const currentUserAtom = 0x0ff6
const userEditAtom = 0x0ff5
const persistDirectory = 0x1772
const encryptedToken = 0xf3d1c4df

export function checkPresentation(container: OleContainer): OleFacts {
  const entry = container.findStream('PowerPoint Document')
  const older = container.findStream('PP40')
  if (!entry && older)
    return {
      stream: older.name,
      encrypted: false,
      notes: ['the presentation is from PowerPoint 95 or earlier, so only its container was checked'],
    }
  if (!entry)
    throw createDamageError("the compound file has no 'PowerPoint Document' stream, so it is not a PowerPoint presentation")
  const document = container.openStream(entry)
  const userEntry = container.findStream('Current User')
  if (!userEntry) throw createDamageError("the 'Current User' stream is missing, so PowerPoint cannot open the presentation")
  const user = container.openStream(userEntry).read(0, 20)
  if (user.length < 20 || user.readUInt16LE(2) !== currentUserAtom)
    throw createDamageError("the presentation's 'Current User' stream is damaged")
  const encrypted = user.readUInt32LE(12) === encryptedToken
  checkUserEdits(document, user.readUInt32LE(16))
  return { stream: entry.name, encrypted }
}

export function isEncryptedPresentation(container: OleContainer): boolean {
  const entry = container.findStream('Current User')
  const user = entry && container.openStream(entry).read(0, 16)
  return user?.length === 16 && user.readUInt32LE(12) === encryptedToken
}

/** Checks the chain of edits, in which each edit points to the previous one at a lower offset. */
function checkUserEdits(document: OleStream, lastOffset: number): void {
  const seen = new Set<number>()
  for (let offset = lastOffset; offset !== 0 || seen.size === 0; ) {
    if (seen.has(offset)) throw createMaliciousError('ole_circle', "the presentation's edit history is circular")
    seen.add(offset)
    const edit = document.read(offset, 28)
    if (edit.length < 28 || edit.readUInt16LE(2) !== userEditAtom)
      throw createDamageError('an edit in the presentation is not at the declared offset')
    const directory = document.read(edit.readUInt32LE(20), 8)
    if (directory.length < 8 || directory.readUInt16LE(2) !== persistDirectory)
      throw createDamageError("the presentation's directory is not at the declared offset")
    offset = edit.readUInt32LE(16)
  }
}
