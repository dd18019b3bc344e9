import { noise, text, u16be, u32be } from './media.js'

export const box = (type: string, ...bodies: Buffer[]) => {
  const body = Buffer.concat(bodies)
  return Buffer.concat([u32be(body.length + 8), text(type), body])
}
const full = (type: string, ...bodies: Buffer[]) => box(type, u32be(0), ...bodies)

const soundEntry = () => box('mp4a', Buffer.alloc(28))

interface Track {
  /** Handler type: `soun` or `vide`. */
  kind: string
  entry: Buffer
  sizes: number[]
  dataAt: number
}

/** Creates a track with its samples in two chunks. */
function track({ kind, entry, sizes, dataAt }: Track): Buffer {
  const half = sizes.length / 2
  const second = dataAt + sizes.slice(0, half).reduce((sum, size) => sum + size, 0)
  const table = box(
    'stbl',
    full('stsd', u32be(1), entry),
    full('stts', u32be(1), u32be(sizes.length), u32be(100)),
    full('stsc', u32be(1), u32be(1), u32be(half), u32be(1)),
    full('stsz', u32be(0), u32be(sizes.length), ...sizes.map(u32be)),
    full('stco', u32be(2), u32be(dataAt), u32be(second)),
  )
  const references = box('dinf', full('dref', u32be(1), box('url ', u32be(1))))
  const handler = full('hdlr', Buffer.alloc(4), text(kind), Buffer.alloc(13))
  const media = box('mdia', full('mdhd', Buffer.alloc(20)), handler, box('minf', references, table))
  return box('trak', full('tkhd', Buffer.alloc(80)), media)
}

const movie = (...tracks: Buffer[]) => box('moov', full('mvhd', Buffer.alloc(96)), ...tracks)

/** Creates an MP4 with four samples in two chunks of 500 bytes. `headerFirst` places the movie header before the data. */
export function mp4(options: { headerFirst?: boolean } = {}): Buffer {
  const type = box('ftyp', text('isom'), u32be(512), text('isommp42'))
  const data = box('mdat', noise(1000))
  const header = (dataAt: number) => movie(track({ kind: 'soun', entry: soundEntry(), sizes: [300, 200, 100, 400], dataAt }))
  if (!options.headerFirst) return Buffer.concat([type, data, header(type.length + 8)])
  return Buffer.concat([type, header(type.length + header(0).length + 8), data])
}

/** Returns the content of an avcC box: parameter sets, each preceded by its length. */
export const avcConfiguration = () => {
  const set = Buffer.from([0x67, 0x42, 0xc0, 0x1e, 0xd9])
  return Buffer.concat([
    Buffer.from([1, 0x42, 0xc0, 0x1e, 0xff, 0xe1]),
    u16be(set.length),
    set,
    Buffer.from([1]),
    u16be(4),
    noise(4),
  ])
}

/** Creates an MP4 with four H.264 frames and the movie header first. `fill` replaces the frames. */
export function avcMp4(
  options: { configuration?: Buffer | 'none'; fill?: (data: Buffer) => Buffer; startCodes?: boolean } = {},
): Buffer {
  const configuration = options.configuration ?? avcConfiguration()
  const inside = configuration === 'none' ? Buffer.alloc(0) : box('avcC', configuration)
  const entry = box('avc1', Buffer.alloc(78), inside)
  const picture = (bytes: number) =>
    Buffer.concat([u32be(options.startCodes ? 1 : bytes - 4), Buffer.from([0x65]), noise(bytes - 5)])
  const sizes = [400, 150, 150, 300]
  const data = Buffer.concat(sizes.map(picture))
  const type = box('ftyp', text('isom'), u32be(512), text('isommp42'))
  const header = (dataAt: number) => movie(track({ kind: 'vide', entry, sizes, dataAt }))
  return Buffer.concat([type, header(type.length + header(0).length + 8), box('mdat', options.fill?.(data) ?? data)])
}

/** Creates a movie header without samples, and two fragments with three samples each. `announced: false` omits the mvex box. */
export function fragmentedMp4(options: { track?: number; samples?: number; announced?: boolean } = {}): Buffer {
  const table = box(
    'stbl',
    full('stsd', u32be(1), soundEntry()),
    full('stts', u32be(0)),
    full('stsc', u32be(0)),
    full('stsz', u32be(0), u32be(0)),
    full('stco', u32be(0)),
  )
  const handler = full('hdlr', Buffer.alloc(4), text('soun'), Buffer.alloc(13))
  const header = movie(
    box('trak', full('tkhd', Buffer.alloc(80)), box('mdia', full('mdhd', Buffer.alloc(20)), handler, box('minf', table))),
    ...(options.announced === false ? [] : [box('mvex', full('trex', u32be(1), Buffer.alloc(16)))]),
  )
  const run = box('trun', u32be(0x200), u32be(options.samples ?? 3), ...[100, 100, 100].map(u32be))
  const part = box('traf', full('tfhd', u32be(options.track ?? 1)), run)
  const fragment = () => [box('moof', full('mfhd', u32be(1)), part), box('mdat', noise(300))]
  return Buffer.concat([box('ftyp', text('iso5'), u32be(0)), header, ...fragment(), ...fragment()])
}
