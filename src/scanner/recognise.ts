/** What may hold something inside, by its first bytes. */
export type Container = 'zip' | 'gzip' | 'tar' | '7z' | 'rar' | 'bzip2' | 'xz' | 'zstd' | 'cab' | 'ole' | 'pdf'

/** Enough of a file's beginning for `recognise`. */
export const headLength = 1024

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
]

export function recognise(head: Buffer): Container | undefined {
  const known = magics.find(([, magic]) => head.subarray(0, magic.length).equals(magic))
  if (known) return known[0]
  if (head.subarray(0, headLength).includes('%PDF-')) return 'pdf'
  return isTar(head) ? 'tar' : undefined
}

/** The header's checksum: old tars have no magic, and text may begin like anything. */
function isTar(head: Buffer): boolean {
  if (head.length < 512 || head[0] === 0) return false
  const told = Number.parseInt(
    head
      .toString('latin1', 148, 156)
      .replace(/[\0 ]+$/, '')
      .trim(),
    8,
  )
  let sum = 8 * 32
  for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += head[at] as number
  return told === sum
}

const notUnpacked: Partial<Record<Container, string>> = {
  '7z': '7z',
  rar: 'RAR',
  bzip2: 'bzip2',
  xz: 'xz',
  zstd: 'zstd',
  cab: 'cabinet',
  ole: 'OLE',
  pdf: 'PDF',
}

/** What is told of a container that is scanned as it is; undefined for what is unpacked, and for what holds nothing. */
export const noteOn = (container: Container | undefined): string | undefined => {
  const name = container && notUnpacked[container]
  return name && `scanned as it is, since the engine does not unpack it: ${name}`
}

/** True where an archive's directory stands at the end of something that does not look like one from the front. */
export const endsLikeZip = (tail: Buffer): boolean => tail.includes('PK\x05\x06', 0, 'latin1')
