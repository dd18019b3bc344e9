import type { RandomAccessSource } from '../random-access-source.js'

type SignatureTest = (source: RandomAccessSource) => boolean

const createSignatureTest =
  (offset: number, pattern: RegExp): SignatureTest =>
  (source) =>
    pattern.test(source.read(offset, 64).toString('latin1'))

const signatures: Record<string, SignatureTest> = {
  iso: createSignatureTest(32_769, /^(CD001|BEA01)/),
  avro: createSignatureTest(0, /^Obj\x01/),
  exr: createSignatureTest(0, /^v\/1\x01/),
  djvu: createSignatureTest(0, /^AT&TFORM....DJV[UMI]/s),
  npy: createSignatureTest(0, /^\x93NUMPY[\x01-\x03]\0/),
  // A user block of 512 bytes or more may precede the HDF5 signature.
  h5: (source) => [0, 512, 1024, 2048].some((place) => createSignatureTest(place, /^\x89HDF\r\n\x1a\n/)(source)),
  nii: (source) => createSignatureTest(344, /^n[+i]1\0/)(source) || createSignatureTest(4, /^n[+i]2\0/)(source),
  shp: (source) => createSignatureTest(0, /^\0\0\x27\x0a\0{20}/)(source) && createSignatureTest(28, /^\xe8\x03\0\0/)(source),
  dbf: isDbf,
  tga: (source) => createSignatureTest(source.size - 18, /^TRUEVISION-XFILE\.\0/)(source),
  der: isDer,
  bplist: createSignatureTest(0, /^bplist00/),
  // Matches a legacy frame or a skippable frame. Zstandard files may also start with a skippable frame.
  lz4: (source) =>
    createSignatureTest(0, /^\x02\x21\x4c\x18/)(source) ||
    (source.extension === 'lz4' && createSignatureTest(0, /^[\x50-\x5f]\x2a\x4d\x18/)(source)),
  tta: createSignatureTest(0, /^TTA[12]/),
  // Matches OneNote sections and tables of contents ([MS-ONESTORE] 2.3.1).
  one: createSignatureTest(0, /^(\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1|\xa1\x2f\xff\x43\xd9\xef\x76\x4c\x9e\xe2)/),
  'is-cab': createSignatureTest(0, /^ISc\(/),
  // Matches TrueType and PostScript fonts from classic Mac OS.
  ttf: createSignatureTest(0, /^(true|typ1)\0[\x01-\x40]/),
  mid: createSignatureTest(0, /^RIFF....RMID/s),
  'raw-photo': createSignatureTest(0, /^(IIR[OS]|MMOR|IIU\0)/),
}

export const detectBinarySignature = (source: RandomAccessSource): string | undefined =>
  Object.keys(signatures).find((type) => signatures[type]!(source))

function isDbf(source: RandomAccessSource): boolean {
  const head = source.read(0, 32)
  if (head.length < 32 || !/^[\x02\x03\x04\x05\x30\x31\x32\x43\x63\x83\x8b\x8c\xcb\xf5\xfb]$/.test(head.toString('latin1', 0, 1)))
    return false
  const [month, day] = [head[2]!, head[3]!]
  const [records, start, size] = [head.readUInt32LE(4), head.readUInt16LE(8), head.readUInt16LE(10)]
  return (
    month <= 12 && day <= 31 && start >= 33 && size >= 1 && Math.abs(start + records * size - source.size) <= Math.max(2, size)
  )
}

/** Detects DER certificates, keys and signatures: a sequence that spans the whole file or has an indefinite length. */
function isDer(source: RandomAccessSource): boolean {
  const head = source.read(0, 13)
  if (/^\x30\x80(\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07|\x02\x01\x03)/.test(head.toString('latin1'))) return true
  const width = (head[1] ?? 0) - 0x80
  if (head.length >= 6 && head[0] === 0x30 && width < 0) return head[1] === source.size - 2
  return head.length >= 6 && head[0] === 0x30 && width >= 1 && width <= 4 && head.readUIntBE(2, width) === source.size - 2 - width
}
