import { box, fullBox, numbers } from './heic.js'

const avif = { brand: 'avif', item: 'av01', configuration: 'av1C' }
const heic: typeof avif = { brand: 'heic', item: 'hvc1', configuration: 'hvcC' }

/** Returns the image data and the decoder configuration of an AVIF or HEIC. */
function getParts(bytes: Buffer, { configuration: name }: typeof avif): { configuration: Buffer; data: Buffer } {
  const configuration = bytes.indexOf(name, 0, 'latin1') - 4
  const data = bytes.indexOf('mdat', 0, 'latin1') + 4
  return {
    configuration: bytes.subarray(configuration, configuration + bytes.readUInt32BE(configuration)),
    data: bytes.subarray(data),
  }
}

/** Creates a HEIC grid of two tiles, as in phone photos. */
export const heicGrid = (tile: Buffer, width: number, height: number): Buffer => grid(tile, { width, height, format: heic })

export const avifGrid = (tile: Buffer, width: number, height: number, damage: (second: Buffer) => void = () => {}): Buffer =>
  grid(tile, { width, height, damage, format: avif })

interface GridOptions {
  width: number
  height: number
  format: typeof avif
  damage?: (second: Buffer) => void
}

/** Creates an image of two hidden tiles of equal size, side by side. */
function grid(tile: Buffer, { width, height, format, damage = () => {} }: GridOptions): Buffer {
  const { configuration, data } = getParts(tile, format)
  const second = Buffer.from(data)
  damage(second)
  const arrangement = Buffer.concat([numbers(1, 0, 0, 0, 1), numbers(2, width * 2, height)])
  const hidden = (id: number) => box('infe', numbers(1, 2, 0, 0, 1), numbers(2, id, 0), Buffer.from(`${format.item}\0`, 'latin1'))
  const start = box('ftyp', Buffer.from(`${format.brand}\0\0\0\0mif1${format.brand}miaf`, 'latin1'))
  const meta = (place: number) =>
    fullBox(
      'meta',
      0,
      fullBox('hdlr', 0, numbers(4, 0), Buffer.from('pict', 'latin1'), Buffer.alloc(13)),
      fullBox('pitm', 0, numbers(2, 1)),
      fullBox(
        'iloc',
        0,
        numbers(2, 0x4400, 3),
        ...[arrangement, data, second].flatMap((part, index) => {
          const before = [0, arrangement.length, arrangement.length + data.length][index]!
          return [numbers(2, index + 1, 0, 1), numbers(4, place + before, part.length)]
        }),
      ),
      fullBox(
        'iinf',
        0,
        numbers(2, 3),
        fullBox('infe', 2, numbers(2, 1, 0), Buffer.from('grid\0', 'latin1')),
        hidden(2),
        hidden(3),
      ),
      fullBox('iref', 0, box('dimg', numbers(2, 1, 2, 2, 3))),
      box(
        'iprp',
        box(
          'ipco',
          fullBox('ispe', 0, numbers(4, width * 2, height)),
          fullBox('ispe', 0, numbers(4, width, height)),
          configuration,
          fullBox('pixi', 0, numbers(1, 3, 8, 8, 8)),
        ),
        fullBox(
          'ipma',
          0,
          numbers(4, 3),
          numbers(2, 1),
          numbers(1, 2, 1, 4),
          numbers(2, 2),
          numbers(1, 3, 2, 0x83, 4),
          numbers(2, 3),
          numbers(1, 3, 2, 0x83, 4),
        ),
      ),
    )
  const place = start.length + meta(0).length + 8
  return Buffer.concat([start, meta(place), box('mdat', arrangement, data, second)])
}
