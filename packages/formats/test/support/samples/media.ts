export const text = (value: string) => Buffer.from(value, 'latin1')
export const u16be = (value: number) => Buffer.from([value >> 8, value & 255])
export const u32be = (value: number) =>
  Buffer.from([(value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, value & 255])
export const u32le = (value: number) =>
  Buffer.from([value & 255, (value >>> 8) & 255, (value >>> 16) & 255, (value >>> 24) & 255])
export const u16le = (value: number) => Buffer.from([value & 255, value >> 8])

/** Computes a CRC bit by bit, most significant bit first, so that the tests do not depend on the code under test. */
function crc(bytes: Buffer, bits: number, polynomial: bigint): number {
  const top = 1n << BigInt(bits - 1)
  const mask = (1n << BigInt(bits)) - 1n
  let value = 0n
  for (const byte of bytes) {
    value ^= BigInt(byte) << BigInt(bits - 8)
    for (let bit = 0; bit < 8; bit++) value = value & top ? ((value << 1n) ^ polynomial) & mask : (value << 1n) & mask
  }
  return Number(value)
}

const chunk = (type: string, body: Buffer) => Buffer.concat([text(type), u32le(body.length), body, Buffer.alloc(body.length & 1)])

export const noise = (length: number) =>
  Buffer.from(Array.from({ length }, (_, index) => (index * 7919 + (index >> 3) * 31) & 255))

/** Creates a WAV with one second of audio (8 bits, 8 kHz). `dataSize` and `riffSize` override the lengths in the headers. */
export function wav(options: { dataSize?: number; riffSize?: number } = {}): Buffer {
  const format = Buffer.concat([u16le(1), u16le(1), u32le(8000), u32le(8000), u16le(1), u16le(8)])
  const body = Buffer.concat([text('WAVE'), chunk('fmt ', format), chunk('data', noise(8000))])
  const file = Buffer.concat([text('RIFF'), u32le(options.riffSize ?? body.length), body])
  if (options.dataSize !== undefined) u32le(options.dataSize).copy(file, 40)
  return file
}

/** Creates an RF64 file (EBU Tech 3306) with one second of audio. `longSizes` adds a ds64 chunk. */
export function rf64(longSizes: boolean): Buffer {
  const plain = wav({ dataSize: 0xffffffff })
  const sizes = Buffer.concat([u32le(plain.length + 28), u32le(0), u32le(8000), u32le(0), u32le(8000), u32le(0), u32le(0)])
  const body = [text('WAVE'), ...(longSizes ? [chunk('ds64', sizes)] : []), plain.subarray(12)]
  return Buffer.concat([text('RF64'), u32le(0xffffffff), ...body])
}

function flacFrame(number: number, samples: number): Buffer {
  // Frame header: fixed block size as a 16-bit number, 44.1 kHz, one channel, 16 bits. The subframe is verbatim.
  const open = Buffer.concat([Buffer.from([0xff, 0xf8, 0x79, 0x08, number]), u16be(samples - 1)])
  const head = Buffer.concat([open, Buffer.from([crc(open, 8, 0x07n)])])
  const frame = Buffer.concat([head, Buffer.from([0x02]), noise(samples * 2)])
  return Buffer.concat([frame, u16be(crc(frame, 16, 0x8005n))])
}

/** Creates a FLAC with frames of 256 samples. */
export function flac(frames = 10): Buffer {
  const total = 10 * 256
  const rate = 44100
  const info = Buffer.concat([
    u16be(256),
    u16be(256),
    Buffer.alloc(6),
    Buffer.from([rate >> 12, (rate >> 4) & 255, ((rate & 15) << 4) | 0, 0xf0]),
    u32be(total),
    Buffer.alloc(16),
  ])
  const body = Array.from({ length: frames }, (_, index) => flacFrame(index, 256))
  return Buffer.concat([text('fLaC'), Buffer.from([0x80, 0, 0, info.length]), info, ...body])
}

interface PageParts {
  flags?: number
  granule?: number
  serial?: number
  body: Buffer
}

/** Creates an Ogg page with a correct checksum. */
export function oggPage(sequence: number, { flags = 0, granule = 0, serial = 0x1234, body }: PageParts): Buffer {
  const lacing = [...Array(Math.floor(body.length / 255)).fill(255), body.length % 255] as number[]
  const head = Buffer.concat([
    text('OggS'),
    Buffer.from([0, flags]),
    u32le(granule),
    u32le(0),
    u32le(serial),
    u32le(sequence),
    u32le(0),
    Buffer.from([lacing.length, ...lacing]),
  ])
  const page = Buffer.concat([head, body])
  u32le(crc(page, 32, 0x04c11db7n)).copy(page, 22)
  return page
}

export const opusHead = () => Buffer.concat([text('OpusHead'), Buffer.from([1, 1, 0, 0]), u32le(48000), Buffer.from([0, 0, 0])])

/** Creates an Opus stream with two header pages and four packets. `tags: false` omits the second header. */
export function ogg(options: { endMark?: boolean; tags?: boolean } = {}): Buffer {
  const tags = Buffer.concat([text('OpusTags'), u32le(5), text('assay'), u32le(0)])
  const valid = [1, 2, 3, 4].map((index) =>
    oggPage(index + 1, { flags: index === 4 && options.endMark !== false ? 4 : 0, granule: index * 960, body: noise(400) }),
  )
  const headers = [oggPage(0, { flags: 2, body: opusHead() }), oggPage(1, { body: tags })]
  return Buffer.concat([...headers.slice(0, options.tags === false ? 1 : 2), ...valid])
}

/** Creates an AAC stream of ten ADTS frames with 100 bytes each. */
export function aac(): Buffer {
  const frame = Buffer.concat([
    Buffer.from([0xff, 0xf1, 0x50, 0x80, 100 >> 3, ((100 & 7) << 5) | 0x1f, 0xfc]),
    Buffer.alloc(93, 0x21),
  ])
  return Buffer.concat(Array(10).fill(frame))
}

/** Creates an MP3 (MPEG-1 layer 3, 128 kbit/s, 44.1 kHz) with an ID3v2 tag and an ID3v1 tag. A frame has 417 bytes. */
export function mp3(frames = 20): Buffer {
  const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0xc4]), Buffer.alloc(413, 0x55)])
  const tag = Buffer.concat([text('ID3'), Buffer.from([3, 0, 0, 0, 0, 0, 20]), Buffer.alloc(20)])
  return Buffer.concat([tag, ...Array(frames).fill(frame), text('TAG'), Buffer.alloc(125)])
}

export const element = (id: string, ...bodies: Buffer[]) => {
  const body = Buffer.concat(bodies)
  return Buffer.concat([
    Buffer.from(id, 'hex'),
    Buffer.from([0x10 | (body.length >> 24)]),
    Buffer.from([(body.length >> 16) & 255, (body.length >> 8) & 255, body.length & 255]),
    body,
  ])
}
const unknownLength = (id: string, ...bodies: Buffer[]) =>
  Buffer.concat([Buffer.from(id, 'hex'), Buffer.from('01ffffffffffffff', 'hex'), ...bodies])

interface WebmParts {
  live?: boolean
  /** Document type, which an empty string omits. */
  type?: string
  /** Track number in the blocks. */
  track?: number
}

/** Creates a WebM with two clusters of three blocks. `live` uses unknown lengths, as in a live stream. */
export function webm(options: WebmParts = {}): Buffer {
  const type = options.type ?? 'webm'
  const header = element('1a45dfa3', element('4286', Buffer.from([1])), ...(type ? [element('4282', text(type))] : []))
  const codec = element('86', text('A_OPUS'))
  const tracks = element('1654ae6b', element('ae', element('d7', Buffer.from([1])), codec))
  const block = (id: string) => element(id, Buffer.from([0x80 | (options.track ?? 1), 0, 0, 0x80]), noise(120))
  const blocks = (time: number) => [
    element('e7', Buffer.from([time])),
    block('a3'),
    block('a3'),
    element('a0', element('9b', Buffer.from([20])), block('a1')),
  ]
  const wrap = options.live ? unknownLength : element
  return Buffer.concat([
    header,
    wrap(
      '18538067',
      element('1549a966', element('2ad7b1', Buffer.from([15, 66, 64]))),
      tracks,
      wrap('1f43b675', ...blocks(0)),
      wrap('1f43b675', ...blocks(60)),
    ),
  ])
}
