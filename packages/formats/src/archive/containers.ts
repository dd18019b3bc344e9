import { crc32 } from 'node:zlib'
import { hasValidTarChecksum, tarBlock } from './tar/header.js'

type SignatureTest = (head: Buffer) => boolean

const createSignatureTest = (offset: number, ...magics: string[]): SignatureTest => {
  const wanted = magics.map((magic) => Buffer.from(magic, 'latin1'))
  return (head) => wanted.some((magic) => head[offset] === magic[0] && head.subarray(offset, offset + magic.length).equals(magic))
}

/** Container signatures in the order of detection. The least specific ones come last. */
const signatures = {
  zip: createSignatureTest(0, 'PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08PK\x03\x04', 'PK00PK\x03\x04'),
  gzip: createSignatureTest(0, '\x1f\x8b\x08'),
  '7z': createSignatureTest(0, "7z\xbc\xaf'\x1c"),
  xz: createSignatureTest(0, '\xfd7zXZ\0'),
  bzip2: (head) => /^BZh[1-9](1AY&SY|\x17rE8P\x90)/.test(head.toString('latin1', 0, 10)),
  // A Zstandard file may start with a skippable frame.
  zstd: (head) => /^(\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)/.test(head.toString('latin1', 0, 4)),
  lzma: isLzma,
  z: (head) => head.readUInt16BE() === 0x1f9d && (head[2]! & 0x60) === 0,
  cab: createSignatureTest(0, 'MSCF\0\0\0\0'),
  rar: createSignatureTest(0, 'Rar!\x1a\x07\0'),
  rar5: createSignatureTest(0, 'Rar!\x1a\x07\x01\0'),
  arj: isArj,
  lzh: (head) => /^..-lh[0-7dx]-/s.test(head.toString('latin1', 0, 7)),
  cpio: (head) => /^07070(7[0-7]{6}|[12][0-9a-fA-F]{8})/.test(head.toString('latin1', 0, 14)),
  ar: createSignatureTest(0, '!<arch>\n'),
  rpm: createSignatureTest(0, '\xed\xab\xee\xdb'),
  xar: createSignatureTest(0, 'xar!'),
  wim: createSignatureTest(0, 'MSWIM\0\0\0'),
  iso: createSignatureTest(32_769, 'CD001'),
  udf: createSignatureTest(32_769, 'BEA01'),
  swf: (head) => /^[CZ]WS[\x04-\x40]/.test(head.toString('latin1', 0, 4)),
  szdd: createSignatureTest(0, "SZDD\x88\xf0'3"),
  ole: createSignatureTest(0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'),
  chm: createSignatureTest(0, 'ITSF\x03\0\0\0'),
  tnef: createSignatureTest(0, '\x78\x9f\x3e\x22'),
  onenote: createSignatureTest(0, '\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3'),
  alz: createSignatureTest(0, 'ALZ\x01\x0a\0\0\0'),
  egg: createSignatureTest(0, 'EGGA\0\x01'),
  lz4: createSignatureTest(0, '\x04\x22\x4d\x18', '\x02\x21\x4c\x18'),
  lzip: createSignatureTest(0, 'LZIP\x01'),
  ace: createSignatureTest(7, '**ACE**'),
  zoo: createSignatureTest(20, '\xdc\xa7\xc4\xfd'),
  stuffit: createSignatureTest(0, 'SIT!', 'StuffIt (c)1997-'),
  installshield: createSignatureTest(0, 'ISc('),
  squashfs: createSignatureTest(0, 'hsqs', 'sqsh'),
  disk: isDiskImage,
  rtf: createSignatureTest(0, '{\\rt'),
  pdf: (head) => head.subarray(0, 1024).includes('%PDF-'),
  mail: isMailMessage,
  dmg: () => false,
  tar: isTar,
} satisfies Record<string, SignatureTest>

export type Container = keyof typeof signatures

const containerTests = Object.entries(signatures) as [Container, SignatureTest][]

/** Number of bytes that `detectContainer` needs. Mail needs the most, because many headers can precede its MIME header. */
export const headLength = 256 * 1024

export function detectContainer(head: Buffer): Container | undefined {
  if (head.length < 4) return undefined
  return containerTests.find(([, matches]) => matches(head))?.[0]
}

/** Detects raw LZMA, which has no signature, by its default properties, dictionary size and declared size. */
function isLzma(head: Buffer): boolean {
  if (head.length < 14 || head[0] !== 0x5d || head[13] !== 0) return false
  const dictionary = head.readUInt32LE(1)
  const size = head.readBigUInt64LE(5)
  const powers = dictionary.toString(2).replace(/0+$/, '')
  return dictionary >= 4096 && (powers === '1' || powers === '11') && (size === 0xffff_ffff_ffff_ffffn || size < 2n ** 40n)
}

function isArj(head: Buffer): boolean {
  if (head.readUInt16BE() !== 0x60ea) return false
  const size = head.readUInt16LE(2)
  return (
    size >= 30 && size <= 2600 && head.length >= 8 + size && crc32(head.subarray(4, 4 + size)) === head.readUInt32LE(4 + size)
  )
}

function isDiskImage(head: Buffer): boolean {
  const readText = (offset: number, length: number) => head.toString('latin1', offset, offset + length)
  if (hasDiskImageSignature(head) || (hasBootSignature(head) && hasFileSystemSignature(head))) return true
  return (
    hasExtSignature(head) &&
    /^[\x01\x02\x04]\0[\x01-\x03]\0$/.test(readText(1082, 4)) &&
    /^[\0\x01]\0\0\0$/.test(readText(1100, 4))
  )
}
const combineSignatureTests =
  (...tests: SignatureTest[]): SignatureTest =>
  (head) =>
    tests.some((matches) => matches(head))
const hasDiskImageSignature = combineSignatureTests(
  createSignatureTest(0, 'conectix', 'vhdxfile', 'KDMV', 'QFI\xfb', '# Disk DescriptorFile'),
  createSignatureTest(64, '\x7f\x10\xda\xbe'),
  createSignatureTest(512, 'EFI PART'),
)
const hasBootSignature = createSignatureTest(510, '\x55\xaa')
const hasFileSystemSignature = combineSignatureTests(
  createSignatureTest(3, 'NTFS    '),
  createSignatureTest(54, 'FAT12   ', 'FAT16   '),
  createSignatureTest(82, 'FAT32   '),
)
const hasExtSignature = createSignatureTest(1080, '\x53\xef')

/** Checks the header checksum, because old tar files have no signature. */
export function isTar(head: Buffer): boolean {
  return head.length >= tarBlock && head[0] !== 0 && hasValidTarChecksum(head.subarray(0, tarBlock))
}

const firstHeaderField = /^(?:\xef\xbb\xbf)?(?:From [^\r\n]{1,200}\r?\n)?[A-Za-z][A-Za-z0-9-]{0,60}:[ \t]/
const mimeHeaderField = /^(?:\xef\xbb\xbf)?(?:mime-version|content-type|content-transfer-encoding):/im
const uuencodedFile = /^begin [0-7]{3,4} [^\r\n]+\r?\n/m

/** Detects mail by a MIME header field or a uuencoded file (RFC 5322, RFC 2045). Other messages are treated as plain text. */
function isMailMessage(head: Buffer): boolean {
  if (!firstHeaderField.test(head.toString('latin1', 0, 512))) return false
  const text = head.toString('latin1')
  return mimeHeaderField.test(text.split(/\r?\n\r?\n/, 1)[0]!) || uuencodedFile.test(text)
}

export const tailLength = 66_000

/** Detects a container by the trailer at its end, regardless of the bytes before it. */
export function detectContainerAtEnd(tail: Buffer): Container | undefined {
  if (tail.includes('PK\x05\x06', 0, 'latin1')) return 'zip'
  // Common programs accept bytes after the `koly` trailer, so the trailer need not be at the very end.
  return tail.includes('koly\0\0\0\x04\0\0\x02\0', 0, 'latin1') ? 'dmg' : undefined
}

export const mayContainContainer = (bytes: Buffer): boolean =>
  detectContainer(bytes.subarray(0, headLength)) !== undefined || detectContainerAtEnd(bytes.subarray(-tailLength)) !== undefined
