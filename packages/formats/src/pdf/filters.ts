export const maxDecodedBytes = 32 * 1024 * 1024

/** Decodes as much of the data as possible, even if it is damaged. Throws `RangeError` if the result exceeds the limit. */
type Decode = (data: Buffer) => Buffer

export const flateFilters = new Set(['FlateDecode', 'Fl'])

export const filters: Record<string, Decode> = {
  ASCIIHexDecode: decodeHex,
  AHx: decodeHex,
  ASCII85Decode: decodeAscii85,
  A85: decodeAscii85,
  RunLengthDecode: decodeRunLength,
  RL: decodeRunLength,
  LZWDecode: decodeLzw,
  LZW: decodeLzw,
}

function decodeHex(data: Buffer): Buffer {
  const digits = data
    .toString('latin1')
    .split('>', 1)[0]!
    .replace(/[^0-9A-Fa-f]/g, '')
  return Buffer.from(digits.length % 2 ? `${digits}0` : digits, 'hex')
}

function decodeAscii85(data: Buffer): Buffer {
  const text = data
    .toString('latin1')
    .replace(/^\s*<~/, '')
    .split('~', 1)[0]!
  const decoded = Buffer.alloc(text.length * 4)
  let length = 0
  let group: number[] = []
  const flushGroup = (count: number) => {
    const value = group.reduce((sum, digit) => sum * 85 + digit, 0) % 0x1_0000_0000
    for (let byte = 0; byte < count; byte++) decoded[length++] = Math.floor(value / 256 ** (3 - byte)) & 0xff
    group = []
  }
  for (const char of text) {
    if (char === 'z' && group.length === 0) {
      length += 4
      continue
    }
    const digit = char.charCodeAt(0) - 33
    if (digit < 0 || digit > 84) continue
    group.push(digit)
    if (group.length === 5) flushGroup(4)
  }
  const rest = group.length
  if (rest > 1) {
    while (group.length < 5) group.push(84)
    flushGroup(rest - 1)
  }
  return decoded.subarray(0, length)
}

function decodeRunLength(data: Buffer): Buffer {
  const parts: Buffer[] = []
  let size = 0
  for (let at = 0; at < data.length; ) {
    const length = data[at++]!
    if (length === 128) break
    const run = length < 128 ? data.subarray(at, at + length + 1) : Buffer.alloc(257 - length, data[at])
    parts.push(run)
    size = checkDecodedSize(size + run.length)
    at += length < 128 ? length + 1 : 1
  }
  return Buffer.concat(parts)
}

function checkDecodedSize(size: number): number {
  if (size > maxDecodedBytes) throw new RangeError('the data exceeds the decoding limit')
  return size
}

/** Decodes LZW with early change, the default, in which the code length grows one code early. */
function decodeLzw(data: Buffer): Buffer {
  const parts: Buffer[] = []
  let size = 0
  let table: Buffer[] = []
  const resetTable = () => {
    table = Array.from({ length: 258 }, (_, byte) => Buffer.from([byte & 0xff]))
  }
  resetTable()
  let [bits, value, held] = [9, 0, 0]
  let last: Buffer | undefined
  for (const byte of data) {
    value = ((value << 8) | byte) & 0xff_ffff
    held += 8
    if (held < bits) continue
    held -= bits
    const code = (value >> held) & ((1 << bits) - 1)
    if (code === 257) break
    if (code === 256) {
      resetTable()
      bits = 9
      last = undefined
      continue
    }
    const entry: Buffer | undefined = table[code] ?? (last && Buffer.concat([last, last.subarray(0, 1)]))
    if (!entry) break
    parts.push(entry)
    size = checkDecodedSize(size + entry.length)
    if (last && table.length < 4096) table.push(Buffer.concat([last, entry.subarray(0, 1)]))
    last = entry
    bits = Math.min(12, Math.max(9, Math.ceil(Math.log2(table.length + 2))))
  }
  return Buffer.concat(parts)
}
