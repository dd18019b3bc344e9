/**
 * Finds the chunks, boxes, pages or members of a file. Each part is a byte range. `lengthAt` is the offset of the least
 * significant byte of its length field, and `sumAt` that of its checksum, if any.
 */
export function findParts(bytes, extension) {
  const found = (finders[extension] ?? (() => []))(bytes).filter(({ start, end }) => end > start && end <= bytes.length)
  const getOffsets = (name) => found.map((part) => part[name]).filter((at) => at !== undefined && at < bytes.length)
  const parts = found.length > 1 ? found : splitIntoEighths(bytes)
  return { bytes, parts, lengths: getOffsets('lengthAt'), sums: getOffsets('sumAt') }
}

function splitIntoEighths(bytes) {
  const size = Math.max(1, bytes.length >> 3)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => ({
    start: index * size,
    end: Math.min((index + 1) * size, bytes.length),
  }))
}

function findPngParts(bytes) {
  const parts = []
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at)
    parts.push({ start: at, end, lengthAt: at + 3, sumAt: end - 4 })
    at = end
  }
  return parts
}

function findJpegParts(bytes) {
  const parts = []
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const end = at + 2 + bytes.readUInt16BE(at + 2)
    parts.push({ start: at, end, lengthAt: at + 3 })
    if (bytes[at + 1] === 0xda) {
      const size = Math.max(64, (bytes.length - end) >> 3)
      for (let from = end; from < bytes.length - 2; from += size)
        parts.push({ start: from, end: Math.min(from + size, bytes.length - 2) })
      break
    }
    at = end
  }
  return parts
}

function findGifParts(bytes) {
  const getColorTableBytes = (flags) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)
  const parts = []
  for (let at = 13 + getColorTableBytes(bytes[10]); at < bytes.length && bytes[at] !== 0x3b; ) {
    const start = at
    at += bytes[at] === 0x2c ? 11 + getColorTableBytes(bytes[at + 9]) : 2
    const lengthAt = at
    while (bytes[at]) at += bytes[at] + 1
    parts.push({ start, end: ++at, lengthAt })
  }
  return parts
}

function findRiffParts(bytes) {
  const parts = []
  for (let at = 12; at + 8 <= bytes.length; ) {
    const end = at + 8 + bytes.readUInt32LE(at + 4)
    parts.push({ start: at, end, lengthAt: at + 4 })
    at = end + (end & 1)
  }
  return [...parts, { start: 4, end: 8, lengthAt: 4 }]
}

const findBmpParts = (bytes) => [{ start: 0, end: 54, lengthAt: 2 }, ...splitIntoEighths(bytes).slice(1)]

function findTiffParts(bytes) {
  const little = bytes[0] === 0x49
  const readUint16 = (offset) => (little ? bytes.readUInt16LE(offset) : bytes.readUInt16BE(offset))
  const readUint32 = (offset) => (little ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset))
  const parts = []
  for (let at = readUint32(4), pages = 0; at > 0 && at + 2 <= bytes.length && pages < 50; pages++) {
    const count = readUint16(at)
    for (let entry = at + 2; entry + 12 <= bytes.length && entry < at + 2 + count * 12; entry += 12)
      parts.push({ start: entry, end: entry + 12, lengthAt: little ? entry + 4 : entry + 7 })
    const next = at + 2 + count * 12
    at = next + 4 <= bytes.length ? readUint32(next) : 0
  }
  return [...parts, ...splitIntoEighths(bytes)]
}

const parentBoxes = new Set('moov trak mdia minf stbl dinf edts udta mvex moof traf iprp ipco'.split(' '))

/** Returns the boxes of MP4, QuickTime, HEIC and AVIF files at all levels. */
function findBoxes(bytes, from = 0, to = bytes.length) {
  const parts = []
  for (let at = from; at + 8 <= to; ) {
    const end = at + bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    if (end < at + 8 || end > to) break
    parts.push({ start: at, end, lengthAt: at + 3 })
    if (parentBoxes.has(type) || type === 'meta') parts.push(...findBoxes(bytes, at + (type === 'meta' ? 12 : 8), end))
    at = end
  }
  return parts
}

function findOggParts(bytes) {
  const parts = []
  for (let at = 0; bytes.toString('latin1', at, at + 4) === 'OggS'; ) {
    const segments = bytes.subarray(at + 27, at + 27 + bytes[at + 26])
    const end = at + 27 + segments.length + segments.reduce((sum, size) => sum + size, 0)
    parts.push({ start: at, end, lengthAt: at + 26, sumAt: at + 22 })
    at = end
  }
  return parts
}

function findFlacParts(bytes) {
  const parts = []
  let at = 4
  for (let last = false; !last && at + 4 < bytes.length; ) {
    last = (bytes[at] & 0x80) !== 0
    const end = at + 4 + bytes.readUIntBE(at + 1, 3)
    parts.push({ start: at, end, lengthAt: at + 3 })
    at = end
  }
  const sync = bytes.readUInt16BE(at)
  const starts = []
  for (let from = at; from >= 0 && from < bytes.length; from = bytes.indexOf(Buffer.from([sync >> 8, sync & 255]), from + 16))
    starts.push(from)
  starts.forEach((start, index) => {
    const end = starts[index + 1] ?? bytes.length
    parts.push({ start, end, sumAt: end - 2 })
  })
  return parts
}

const parentElements = new Set([0x18538067, 0x1654ae6b, 0xae, 0x1f43b675, 0xa0])

/** Returns the elements of WebM and Matroska files at all levels. */
function findEbmlElements(bytes, from = 0, to = bytes.length) {
  const parts = []
  for (let at = from; at + 2 <= to && bytes[at] !== 0; ) {
    const idLength = Math.clz32(bytes[at]) - 23
    const sizeLength = Math.clz32(bytes[at + idLength] ?? 0) - 23
    const start = at + idLength + sizeLength
    if (idLength > 4 || sizeLength > 8 || start > to) break
    let size = bytes[at + idLength] & (0xff >> sizeLength)
    for (let index = 1; index < sizeLength; index++) size = size * 256 + bytes[at + idLength + index]
    const end = Math.min(start + size, to)
    parts.push({ start: at, end, lengthAt: start - 1 })
    if (parentElements.has(bytes.readUIntBE(at, idLength))) parts.push(...findEbmlElements(bytes, start, end))
    at = end
  }
  return parts
}

/** Returns the members and the central directory entries of a zip archive. */
function findZipParts(bytes) {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  const parts = [{ start: end, end: bytes.length, lengthAt: end + 12 }]
  const members = []
  for (let at = bytes.readUInt32LE(end + 16); bytes.toString('latin1', at, at + 4) === 'PK\x01\x02'; ) {
    const next = at + 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
    parts.push({ start: at, end: next, lengthAt: at + 20, sumAt: at + 16 })
    members.push(bytes.readUInt32LE(at + 42))
    at = next
  }
  members.sort((a, b) => a - b)
  members.forEach((start, index) => {
    parts.push({ start, end: members[index + 1] ?? bytes.readUInt32LE(end + 16), lengthAt: start + 18, sumAt: start + 14 })
  })
  return parts
}

function findTarParts(bytes) {
  const parts = []
  for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8) || 0
    const end = at + 512 + Math.ceil(size / 512) * 512
    parts.push({ start: at, end, lengthAt: at + 134, sumAt: at + 152 })
    at = end
  }
  return parts
}

const findGzipParts = (bytes) => [
  { start: 0, end: 10 },
  ...splitIntoEighths(bytes).slice(1),
  { start: bytes.length - 8, end: bytes.length, lengthAt: bytes.length - 4, sumAt: bytes.length - 8 },
]

const findSevenZipParts = (bytes) => [
  { start: 0, end: 32, lengthAt: 20, sumAt: 28 },
  { start: 8, end: 12, sumAt: 8 },
  ...splitIntoEighths(bytes).slice(1),
]

/** Returns the sectors of a compound file, and the directory entries that contain stream sizes. */
function findOleParts(bytes) {
  const size = 2 ** bytes.readUInt16LE(30)
  const parts = []
  for (let at = size; at + size <= bytes.length; at += size) parts.push({ start: at, end: at + size })
  const directory = (bytes.readUInt32LE(48) + 1) * size
  for (let at = directory; at < directory + size; at += 128)
    if (bytes[at + 66] === 2) parts.push({ start: at, end: at + 128, lengthAt: at + 120 })
  return parts
}

function findPdfParts(bytes) {
  const text = bytes.toString('latin1')
  return [...text.matchAll(/\d+ \d+ obj\b.*?endobj|xref.*?startxref/gs)].map(({ 0: part, index }) => {
    const length = /\/Length (\d+)/.exec(part)
    const lengthAt = length ? index + length.index + length[0].length - 1 : undefined
    return { start: index, end: index + part.length, lengthAt }
  })
}

const bitRates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const sampleRates = [44100, 48000, 32000]

function findMp3Parts(bytes) {
  const parts = []
  let at = bytes.toString('latin1', 0, 3) === 'ID3' ? 10 + ((bytes[8] & 127) << 7) + (bytes[9] & 127) : 0
  while (at + 4 <= bytes.length && bytes[at] === 0xff && bytes[at + 1] >> 5 === 7) {
    const rate = sampleRates[(bytes[at + 2] >> 2) & 3]
    const end = at + Math.floor((144_000 * bitRates[bytes[at + 2] >> 4]) / rate) + ((bytes[at + 2] >> 1) & 1)
    if (!(end > at)) break
    parts.push({ start: at, end, lengthAt: at + 2 })
    at = end
  }
  return parts
}

function findAacParts(bytes) {
  const parts = []
  for (let at = 0; at + 7 <= bytes.length && bytes[at] === 0xff; ) {
    const end = at + (((bytes[at + 3] & 3) << 11) | (bytes[at + 4] << 3) | (bytes[at + 5] >> 5))
    if (end <= at) break
    parts.push({ start: at, end, lengthAt: at + 4 })
    at = end
  }
  return parts
}

const createTextPartFinder = (pattern) => (bytes) =>
  [...bytes.toString('latin1').matchAll(pattern)].map(({ 0: part, index }) => ({ start: index, end: index + part.length }))
const markup = createTextPartFinder(/<[^>]*>/g)

const finders = {
  png: findPngParts,
  jpg: findJpegParts,
  gif: findGifParts,
  webp: findRiffParts,
  wav: findRiffParts,
  bmp: findBmpParts,
  tif: findTiffParts,
  ...Object.fromEntries('heic avif mp4 m4a mov'.split(' ').map((name) => [name, findBoxes])),
  ogg: findOggParts,
  flac: findFlacParts,
  webm: findEbmlElements,
  mkv: findEbmlElements,
  ...Object.fromEntries('zip docx xlsx pptx odt ods epub'.split(' ').map((name) => [name, findZipParts])),
  tar: findTarParts,
  gz: findGzipParts,
  '7z': findSevenZipParts,
  xz: (bytes) => [
    { start: 0, end: 12, sumAt: 8 },
    ...splitIntoEighths(bytes).slice(1),
    { start: bytes.length - 12, end: bytes.length, sumAt: bytes.length - 12, lengthAt: bytes.length - 8 },
  ],
  bz2: (bytes) => [{ start: 0, end: 10 }, { start: 10, end: 14, sumAt: 10 }, ...splitIntoEighths(bytes).slice(1)],
  rar: (bytes) => [{ start: 8, end: 12, sumAt: 8 }, { start: 12, end: 13, lengthAt: 12 }, ...splitIntoEighths(bytes).slice(1)],
  cab: (bytes) => [{ start: 8, end: 12, lengthAt: 8 }, ...splitIntoEighths(bytes)],
  ...Object.fromEntries('doc xls ppt'.split(' ').map((name) => [name, findOleParts])),
  pdf: findPdfParts,
  mp3: findMp3Parts,
  aac: findAacParts,
  xml: markup,
  svg: markup,
  json: createTextPartFinder(/"[^"]*"|[[\]{},:]|[\d.]+/g),
  csv: createTextPartFinder(/[^,\n]*[,\n]/g),
}
