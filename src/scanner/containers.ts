import { crc32 } from 'node:zlib'
import { checksumHolds, tarBlock } from '../formats/archive/tar/header.js'

/** Who brings what is in a container before the engine: a reader of ours, the engine itself, or no one. */
export type Unpacker = 'reader' | 'engine' | 'no one'

interface ContainerRow {
  name: string
  /** YARA-X, which unpacks nothing itself. */
  builtIn: Unpacker
  /** clamd and clamscan. */
  clamav: Unpacker
  /** 7-Zip's name for the type, where that is the reader. */
  sevenZip?: string
  /** Whether a file that begins so may be one. */
  begins: (head: Buffer) => boolean
}

const row = (
  name: string,
  [builtIn, clamav]: [Unpacker, Unpacker],
  begins: ContainerRow['begins'],
  sevenZip?: string,
): ContainerRow => ({ name, builtIn, clamav, begins, ...(sevenZip && { sevenZip }) })

/** Any of these texts at a place. */
const at =
  (offset: number, ...magics: string[]): ContainerRow['begins'] =>
  (head) =>
    magics.some((magic) => head.toString('latin1', offset, offset + magic.length) === magic)

const both: [Unpacker, Unpacker] = ['reader', 'engine']
const builtInOnly: [Unpacker, Unpacker] = ['reader', 'no one']
const clamavOnly: [Unpacker, Unpacker] = ['no one', 'engine']
const neither: [Unpacker, Unpacker] = ['no one', 'no one']

/**
 * For every container, who unpacks it. What no one unpacks is never called clean: the scan is incomplete. In the order in which
 * they are recognised, those that show least last.
 */
const rows = {
  zip: row('ZIP archive or document', both, at(0, 'PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08PK\x03\x04', 'PK00PK\x03\x04')),
  gzip: row('gzip file', both, at(0, '\x1f\x8b\x08')),
  '7z': row('7z archive', both, at(0, "7z\xbc\xaf'\x1c"), '7z'),
  xz: row('xz file', both, at(0, '\xfd7zXZ\0'), 'xz'),
  bzip2: row('bzip2 file', both, (head) => /^BZh[1-9](1AY&SY|\x17rE8P\x90)/.test(head.toString('latin1', 0, 10)), 'bzip2'),
  zstd: row('Zstandard file', builtInOnly, at(0, '\x28\xb5\x2f\xfd'), 'zstd'),
  lzma: row('LZMA file', builtInOnly, isLzma, 'lzma'),
  z: row('compress file (.Z)', builtInOnly, (head) => head.readUInt16BE() === 0x1f9d && (head[2]! & 0x60) === 0, 'Z'),
  cab: row('cabinet archive', both, at(0, 'MSCF\0\0\0\0'), 'cab'),
  rar: row('RAR archive', both, at(0, 'Rar!\x1a\x07\0'), 'Rar'),
  rar5: row('RAR 5 archive', both, at(0, 'Rar!\x1a\x07\x01\0'), 'Rar5'),
  arj: row('ARJ archive', both, isArj, 'Arj'),
  lzh: row('LHA archive', both, (head) => /^..-lh[0-7dx]-/s.test(head.toString('latin1', 0, 7)), 'Lzh'),
  cpio: row('cpio archive', both, (head) => /^07070(7[0-7]{6}|[12][0-9a-fA-F]{8})/.test(head.toString('latin1', 0, 14)), 'Cpio'),
  ar: row('Unix archive or Debian package', builtInOnly, at(0, '!<arch>\n'), 'Ar'),
  rpm: row('RPM package', builtInOnly, at(0, '\xed\xab\xee\xdb'), 'Rpm'),
  xar: row('xar archive', both, at(0, 'xar!'), 'Xar'),
  wim: row('Windows image', builtInOnly, at(0, 'MSWIM\0\0\0'), 'wim'),
  iso: row('ISO 9660 image', both, at(32_769, 'CD001'), 'Iso'),
  udf: row('UDF image', both, at(32_769, 'BEA01'), 'Udf'),
  swf: row('packed Flash film', both, (head) => /^[CZ]WS[\x04-\x40]/.test(head.toString('latin1', 0, 4))),
  szdd: row('file of COMPRESS.EXE', both, at(0, "SZDD\x88\xf0'3"), 'MsLZ'),
  ole: row('OLE document', both, at(0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')),
  chm: row('compiled HTML help', clamavOnly, at(0, 'ITSF\x03\0\0\0')),
  tnef: row('TNEF message', clamavOnly, at(0, '\x78\x9f\x3e\x22')),
  onenote: row('OneNote section', clamavOnly, at(0, '\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3')),
  alz: row('ALZ archive', clamavOnly, at(0, 'ALZ\x01\x0a\0\0\0')),
  egg: row('EGG archive', clamavOnly, at(0, 'EGGA\0\x01')),
  lz4: row('LZ4 file', neither, at(0, '\x04\x22\x4d\x18')),
  lzip: row('lzip file', neither, at(0, 'LZIP\x01')),
  ace: row('ACE archive', neither, at(7, '**ACE**')),
  zoo: row('zoo archive', neither, at(20, '\xdc\xa7\xc4\xfd')),
  stuffit: row('StuffIt archive', neither, at(0, 'SIT!', 'StuffIt (c)1997-')),
  squashfs: row('SquashFS image', neither, at(0, 'hsqs', 'sqsh')),
  disk: row('disk image', neither, isDisk),
  pdf: row('PDF', both, (head) => head.subarray(0, 1024).includes('%PDF-')),
  mail: row('mail message', both, isMail),
  // Its directory stands behind the disk, at its end.
  dmg: row('macOS disk image', both, () => false, 'Dmg'),
  tar: row('tar archive', both, isTar),
} satisfies Record<string, ContainerRow>

/** What may hold something inside. */
export type Container = keyof typeof rows

export const containers: Readonly<Record<Container, ContainerRow>> = rows

const known = Object.entries(rows) as [Container, ContainerRow][]

/** Enough of a file's beginning for `recognise`: the field that makes a message one may stand behind many others. */
export const headLength = 256 * 1024

/** By its first bytes. */
export function recognise(head: Buffer): Container | undefined {
  if (head.length < 4) return undefined
  return known.find(([, { begins }]) => begins(head))?.[0]
}

/** LZMA alone has no magic: the usual properties, a dictionary of 2^n or 2^n + 2^(n-1) bytes, and a size that is plausible or unknown. */
function isLzma(head: Buffer): boolean {
  if (head.length < 14 || head[0] !== 0x5d || head[13] !== 0) return false
  const dictionary = head.readUInt32LE(1)
  const size = head.readBigUInt64LE(5)
  const powers = dictionary.toString(2).replace(/0+$/, '')
  return dictionary >= 4096 && (powers === '1' || powers === '11') && (size === 0xffff_ffff_ffff_ffffn || size < 2n ** 40n)
}

/** Its main header, which has a checksum. */
function isArj(head: Buffer): boolean {
  if (head.readUInt16BE() !== 0x60ea) return false
  const size = head.readUInt16LE(2)
  return (
    size >= 30 && size <= 2600 && head.length >= 8 + size && crc32(head.subarray(4, 4 + size)) === head.readUInt32LE(4 + size)
  )
}

/** Of virtual machines, or as a disk begins: NTFS, FAT, ext, a partition table. */
function isDisk(head: Buffer): boolean {
  const text = (offset: number, length: number) => head.toString('latin1', offset, offset + length)
  if (/^(conectix|vhdxfile|KDMV|QFI\xfb|# Disk DescriptorFile)/.test(text(0, 24))) return true
  if (text(64, 4) === '\x7f\x10\xda\xbe' || text(512, 8) === 'EFI PART') return true
  if (
    text(510, 2) === '\x55\xaa' &&
    (text(3, 8) === 'NTFS    ' || /^FAT(12|16) {3}$/.test(text(54, 8)) || text(82, 8) === 'FAT32   ')
  )
    return true
  // The superblock's magic, its state and its revision.
  return (
    text(1080, 2) === '\x53\xef' &&
    /^[\x01\x02\x04]\0[\x01-\x03]\0$/.test(text(1082, 4)) &&
    /^[\0\x01]\0\0\0$/.test(text(1100, 4))
  )
}

/** The header's checksum: old tars have no magic, and text may begin like anything. */
function isTar(head: Buffer): boolean {
  return head.length >= tarBlock && head[0] !== 0 && checksumHolds(head.subarray(0, tarBlock))
}

const firstField = /^(?:From [^\r\n]{1,200}\r?\n)?[A-Za-z][A-Za-z0-9-]{0,60}:[ \t]/
const mimeField = /^(?:mime-version|content-type|content-transfer-encoding):/im

/** Header fields, of which one says how the rest is packed: what has none of these is plain text, which is scanned as it is. RFC 5322, RFC 2045 */
function isMail(head: Buffer): boolean {
  if (!firstField.test(head.toString('latin1', 0, 512))) return false
  return mimeField.test(head.toString('latin1').split(/\r?\n\r?\n/, 1)[0]!)
}

/** How far a directory reaches back from the end of a zip, its comment included. */
export const tailLength = 66_000

/** By its last bytes, behind something that may look like anything from the front. */
export function recogniseTail(tail: Buffer): Container | undefined {
  if (tail.includes('PK\x05\x06', 0, 'latin1')) return 'zip'
  return tail.toString('latin1', tail.length - 512, tail.length - 504) === 'koly\0\0\0\x04' ? 'dmg' : undefined
}

/** Whether it is worth a look inside. */
export const mayHold = (bytes: Buffer): boolean =>
  recognise(bytes.subarray(0, headLength)) !== undefined || recogniseTail(bytes.subarray(-tailLength)) !== undefined
