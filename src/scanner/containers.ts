import { checksumHolds, tarBlock } from '../formats/archive/tar/header.js'

/** What may hold something inside, by its first bytes. */
export type Container =
  | 'zip'
  | 'gzip'
  | 'tar'
  | '7z'
  | 'xz'
  | 'bzip2'
  | 'zstd'
  | 'cab'
  | 'ole'
  | 'pdf'
  | 'mail'
  | 'rar'
  | 'lz4'
  | 'lzip'

/** Who brings what is in a container before the engine: a reader of ours, the engine itself, or no one. */
export type Unpacker = 'reader' | 'engine' | 'no one'

/**
 * For every container, who unpacks it. What no one unpacks is never called clean: the scan is incomplete.
 * `builtIn`: YARA-X, which unpacks nothing itself. `clamav`: clamd and clamscan.
 */
export const containers: Record<Container, { name: string; builtIn: Unpacker; clamav: Unpacker }> = {
  zip: { name: 'ZIP archive or document', builtIn: 'reader', clamav: 'engine' },
  gzip: { name: 'gzip file', builtIn: 'reader', clamav: 'engine' },
  tar: { name: 'tar archive', builtIn: 'reader', clamav: 'engine' },
  '7z': { name: '7z archive', builtIn: 'reader', clamav: 'engine' },
  xz: { name: 'xz file', builtIn: 'reader', clamav: 'engine' },
  bzip2: { name: 'bzip2 file', builtIn: 'reader', clamav: 'engine' },
  zstd: { name: 'Zstandard file', builtIn: 'reader', clamav: 'no one' },
  cab: { name: 'cabinet archive', builtIn: 'reader', clamav: 'engine' },
  ole: { name: 'OLE document', builtIn: 'reader', clamav: 'engine' },
  pdf: { name: 'PDF', builtIn: 'reader', clamav: 'engine' },
  mail: { name: 'mail message', builtIn: 'reader', clamav: 'engine' },
  rar: { name: 'RAR archive', builtIn: 'no one', clamav: 'engine' },
  lz4: { name: 'LZ4 file', builtIn: 'no one', clamav: 'no one' },
  lzip: { name: 'lzip file', builtIn: 'no one', clamav: 'no one' },
}

/** Enough of a file's beginning for `recognise`: the field that makes a message one may stand behind many others. */
export const headLength = 256 * 1024

const magics: [Container, Buffer][] = [
  ['zip', Buffer.from('PK\x03\x04', 'latin1')],
  ['zip', Buffer.from('PK\x05\x06', 'latin1')],
  ['zip', Buffer.from('PK\x07\x08PK\x03\x04', 'latin1')],
  ['gzip', Buffer.from([0x1f, 0x8b, 8])],
  ['7z', Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c])],
  ['rar', Buffer.from('Rar!\x1a\x07', 'latin1')],
  ['bzip2', Buffer.from('BZh')],
  ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
  ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
  ['cab', Buffer.from('MSCF\0\0\0\0', 'latin1')],
  ['ole', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1])],
  ['lz4', Buffer.from([0x04, 0x22, 0x4d, 0x18])],
  ['lzip', Buffer.from('LZIP\x01', 'latin1')],
]

export function recognise(head: Buffer): Container | undefined {
  const known = magics.find(([, magic]) => head.subarray(0, magic.length).equals(magic))
  if (known) return known[0]
  if (head.subarray(0, 1024).includes('%PDF-')) return 'pdf'
  if (isMail(head)) return 'mail'
  return isTar(head) ? 'tar' : undefined
}

/** The header's checksum: old tars have no magic, and text may begin like anything. */
const isTar = (head: Buffer): boolean => head.length >= tarBlock && head[0] !== 0 && checksumHolds(head.subarray(0, tarBlock))

const firstField = /^(?:From [^\r\n]{1,200}\r?\n)?[A-Za-z][A-Za-z0-9-]{0,60}:[ \t]/
const mimeField = /^(?:mime-version|content-type|content-transfer-encoding):/im

/** Header fields, of which one says how the rest is packed: what has none of these is plain text, which is scanned as it is. RFC 5322, RFC 2045 */
function isMail(head: Buffer): boolean {
  if (!firstField.test(head.toString('latin1', 0, 512))) return false
  return mimeField.test(head.toString('latin1').split(/\r?\n\r?\n/, 1)[0]!)
}

/** How far a directory reaches back from the end of a zip, its comment included. */
export const zipTail = 66_000

/** True where an archive's directory stands at the end of something that does not look like one from the front. */
export const endsLikeZip = (tail: Buffer): boolean => tail.includes('PK\x05\x06', 0, 'latin1')
