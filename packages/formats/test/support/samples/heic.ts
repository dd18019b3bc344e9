/** Encodes big-endian numbers with `width` bytes each. */
export const numbers = (width: 1 | 2 | 4, ...values: number[]) => {
  const bytes = Buffer.alloc(width * values.length)
  for (const [index, value] of values.entries()) bytes.writeUIntBE(value, index * width, width)
  return bytes
}

export const box = (type: string, ...content: Buffer[]) => {
  const body = Buffer.concat(content)
  return Buffer.concat([numbers(4, body.length + 8), Buffer.from(type, 'latin1'), body])
}
export const fullBox = (type: string, version: number, ...content: Buffer[]) =>
  box(type, numbers(1, version, 0, 0, 0), ...content)

/** Creates a HEVC unit of the given type, preceded by its length. */
export const unit = (kind: number, content: number[]) => {
  const body = Buffer.from([kind << 1, 1].concat(content))
  return Buffer.concat([numbers(4, body.length), body])
}

/** Parameter sets in the layout of x265. */
const written: Record<number, string> = {
  32: '40010c01ffff03700000030090000003000003001eba0240',
  33: '42010103700000030090000003000003001ea03481072796eae4a6b9b81010302000000300200000030021',
  34: '4401c173c189',
}

const parameters = (kind: number) => {
  const body = Buffer.from(written[kind]!, 'hex')
  return Buffer.concat([numbers(1, kind), numbers(2, 1, body.length), body])
}

interface HeicOptions {
  /** HEVC units. The default is a slice that starts an image. */
  data?: Buffer
  type?: string
  handler?: string
  width?: number
  /** Number of bytes to add to the data offset. */
  shift?: number
  /** Omits the decoder configuration (hvcC). */
  bare?: boolean
  hidden?: boolean
  /** Auxiliary image of the first image: its role and its units. */
  auxiliary?: { purpose: string; data: Buffer }
}

const slice = unit(19, [0x80, ...Array.from({ length: 200 }, (_, index) => (index * 7) | 3)])

const kinds = [32, 33, 34]

export function heic(options: HeicOptions = {}): Buffer {
  const { data = slice, type = 'hvc1', handler = 'pict', width = 64, shift = 0, bare = false } = options
  const { hidden = false, auxiliary } = options
  const configured = kinds.map(parameters)
  const hvcC = Buffer.concat([numbers(1, 1), Buffer.alloc(20), numbers(1, 0xff, kinds.length), ...configured])
  const start = box('ftyp', Buffer.from('heic\0\0\0\0mif1heic', 'latin1'))
  const entry = (id: number, kind: string, flags = 0) =>
    box('infe', numbers(1, 2, 0, 0, flags), numbers(2, id, 0), Buffer.from(`${kind}\0`, 'latin1'))
  const second = <T>(...parts: T[]): T[] => (auxiliary ? parts : [])
  const items = auxiliary ? 2 : 1
  const meta = (place: number) =>
    fullBox(
      'meta',
      0,
      fullBox('hdlr', 0, numbers(4, 0), Buffer.from(handler, 'latin1'), Buffer.alloc(13)),
      fullBox('pitm', 0, numbers(2, 1)),
      fullBox('iinf', 0, numbers(2, items), entry(1, type, hidden ? 1 : 0), ...second(entry(2, 'hvc1', 1))),
      ...second(fullBox('iref', 0, box('auxl', numbers(2, 2, 1, 1)))),
      fullBox(
        'iloc',
        0,
        numbers(2, 0x4400, items, 1, 0, 1),
        numbers(4, Math.max(0, place + shift), data.length),
        ...second(numbers(2, 2, 0, 1), numbers(4, place + data.length, auxiliary?.data.length ?? 0)),
      ),
      box(
        'iprp',
        box(
          'ipco',
          box(bare ? 'free' : 'hvcC', hvcC),
          fullBox('ispe', 0, numbers(4, width, 48)),
          fullBox('pixi', 0, numbers(1, 3, 8, 8, 8)),
          ...second(fullBox('auxC', 0, Buffer.from(`${auxiliary?.purpose}\0`, 'latin1'))),
        ),
        fullBox(
          'ipma',
          0,
          numbers(4, items),
          numbers(2, 1),
          numbers(1, 3, 0x81, 2, 3),
          ...second(numbers(2, 2), numbers(1, 3, 0x81, 2, 4)),
        ),
      ),
    )
  const place = start.length + meta(0).length + 8
  return Buffer.concat([start, meta(place), box('mdat', data, ...second(auxiliary?.data ?? Buffer.alloc(0)))])
}
