import { box, fullBox, numbers } from './heic.js'

/** Data of an image in an AVIF from libvips, and its properties. */
function getParts(avif: Buffer): { configuration: Buffer; data: Buffer } {
  const configuration = avif.indexOf('av1C', 0, 'latin1') - 4
  const data = avif.indexOf('mdat', 0, 'latin1') + 4
  return {
    configuration: avif.subarray(configuration, configuration + avif.readUInt32BE(configuration)),
    data: avif.subarray(data),
  }
}

/** Two images of equal size side by side: a grid of two hidden tiles. */
export function avifGrid(tile: Buffer, width: number, height: number, damage: (second: Buffer) => void = () => {}): Buffer {
  const { configuration, data } = getParts(tile)
  const second = Buffer.from(data)
  damage(second)
  const grid = Buffer.concat([numbers(1, 0, 0, 0, 1), numbers(2, width * 2, height)])
  const hidden = (id: number) => box('infe', numbers(1, 2, 0, 0, 1), numbers(2, id, 0), Buffer.from('av01\0', 'latin1'))
  const start = box('ftyp', Buffer.from('avif\0\0\0\0mif1avifmiaf', 'latin1'))
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
        ...[grid, data, second].flatMap((part, index) => {
          const before = [0, grid.length, grid.length + data.length][index]!
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
  return Buffer.concat([start, meta(place), box('mdat', grid, data, second)])
}
