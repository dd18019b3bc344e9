import type { Content } from '../body/content.js'
import { readRange } from './memory-content.js'

const endOfChain = 0xfffffffa

/**
 * How an OLE file (old Office, or the wrapper of an encrypted docx) is encrypted; undefined where it is not.
 * Reads the directory only, sector by sector: a library would want the whole file in memory. [MS-CFB], [MS-OFFCRYPTO]
 */
export async function oleEncryption(content: Content): Promise<string | undefined> {
  const header = await readRange(content, 0, 512)
  if (header.length < 512) return undefined
  const sectorSize = 1 << Math.min(12, header.readUInt16LE(30))
  const sector = (id: number) => readRange(content, (id + 1) * sectorSize, (id + 2) * sectorSize)
  const perSector = sectorSize / 4
  let at = header.readUInt32LE(48)
  for (let count = 0; count < 64 && at < endOfChain; count++) {
    const how = await encryptionIn(await sector(at), sector)
    if (how) return how
    // The header names the first 109 sectors of the allocation table: 7 MiB of a file at the least. A directory beyond is not followed.
    const table = Math.floor(at / perSector)
    if (table >= 109) return undefined
    const allocation = await sector(header.readUInt32LE(76 + 4 * table))
    if (allocation.length < sectorSize) return undefined
    at = allocation.readUInt32LE(4 * (at % perSector))
  }
  return undefined
}

async function encryptionIn(directory: Buffer, sector: (id: number) => Promise<Buffer>): Promise<string | undefined> {
  for (let at = 0; at + 128 <= directory.length; at += 128) {
    const name = directory.toString('utf16le', at, at + Math.max(0, Math.min(64, directory.readUInt16LE(at + 64)) - 2))
    if (name === 'EncryptedPackage' || name === 'EncryptedSummary' || name === 'EncryptedSummaryInfo') return name
    const start = directory.readUInt32LE(at + 116)
    // FibBase.fEncrypted. [MS-DOC] 2.5.2
    if (name === 'WordDocument' && start < endOfChain && ((await sector(start))[11] ?? 0) & 1) return 'Word'
    if ((name === 'Workbook' || name === 'Book') && start < endOfChain && hasFilePass(await sector(start))) return 'Excel'
  }
  return undefined
}

/** The record FilePass, if any, comes right after the first. [MS-XLS] 2.4.117 */
function hasFilePass(workbook: Buffer): boolean {
  for (let at = 0; at + 4 <= workbook.length; at += 4 + workbook.readUInt16LE(at + 2)) {
    if (workbook.readUInt16LE(at) === 0x2f) return true
  }
  return false
}
