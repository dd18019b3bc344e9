import type { Content } from '../body/content.js'
import { shown } from '../errors.js'
import { readRange } from './memory-content.js'

export interface ZipSummary {
  members: number
  /** Bytes. */
  largest: number
  /** Bytes, all members together. */
  unpacked: number
  /** The name of a member that wants a password. */
  encrypted?: string
}

const most = 8 * 1024 * 1024
const unknown = 0xffffffff

/**
 * What a zip's directory says of its members, in two reads. (yauzl, which does the unpacking elsewhere, reads the
 * directory record by record: two reads and two turns of the event loop for each member, for three numbers.)
 * Undefined where there is no directory, or one beyond 8 MiB. Beyond `mostMembers` it is not read on.
 */
export async function zipSummary(content: Content, mostMembers: number): Promise<ZipSummary | undefined> {
  const end = await findDirectory(content)
  if (!end || end.length > most) return undefined
  const directory = await readRange(content, end.start, end.start + end.length)
  const summary: ZipSummary = { members: 0, largest: 0, unpacked: 0 }
  for (let at = 0; summary.members <= mostMembers && at + 46 <= directory.length && directory.readUInt32LE(at) === 0x02014b50; ) {
    const name = directory.readUInt16LE(at + 28)
    const extra = directory.readUInt16LE(at + 30)
    // In a zip64 record the size is the first number of the extra field 1; it is always there when this one is all ones.
    const plain = directory.readUInt32LE(at + 24)
    const size = plain === unknown ? zip64Size(directory.subarray(at + 46 + name, at + 46 + name + extra)) : plain
    summary.members++
    summary.unpacked += size
    summary.largest = Math.max(summary.largest, size)
    if (directory.readUInt16LE(at + 8) & 1) summary.encrypted ??= shown(directory.toString('utf8', at + 46, at + 46 + name))
    at += 46 + name + extra + directory.readUInt16LE(at + 32)
  }
  return summary
}

async function findDirectory(content: Content): Promise<{ start: number; length: number } | undefined> {
  const tailStart = Math.max(0, content.size - 22 - 0xffff)
  const tail = await readRange(content, tailStart, content.size)
  const at = tail.lastIndexOf('PK\x05\x06', tail.length - 22, 'latin1')
  if (at < 0) return undefined
  const length = tail.readUInt32LE(at + 12)
  const start = tail.readUInt32LE(at + 16)
  if (start !== unknown && length !== unknown && tail.readUInt16LE(at + 10) !== 0xffff) return { start, length }
  const locator = at - 20
  if (locator < 0 || tail.readUInt32LE(locator) !== 0x07064b50) return { start, length }
  const record = await readRange(
    content,
    Number(tail.readBigUInt64LE(locator + 8)),
    Number(tail.readBigUInt64LE(locator + 8)) + 56,
  )
  if (record.length < 56) return undefined
  return { start: Number(record.readBigUInt64LE(48)), length: Number(record.readBigUInt64LE(40)) }
}

function zip64Size(extra: Buffer): number {
  for (let at = 0; at + 12 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === 1) return Number(extra.readBigUInt64LE(at + 4))
  }
  return unknown
}
