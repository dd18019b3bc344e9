/** A grey JPEG made by hand, of one row of blocks: what encoders do not write. */

const segment = (marker: number, ...content: number[]) => [0xff, marker, 0, content.length + 2, ...content]

/** One code of a bit that is a value of nothing; for the others one more of two bits, which is fifteen zeros and a value. */
const tables = [
  ...segment(0xc4, 0x00, 1, ...Array<number>(15).fill(0), 0),
  ...segment(0xc4, 0x10, 1, 1, ...Array<number>(14).fill(0), 0, 0xf1),
]

/** A block without values. */
export const emptyBlock = [0x3f]
/** A block of 65 values. */
export const fullBlock = [0x5b, 0x6f]

interface HandmadeJpeg {
  /** One block, or as many as there are restarts. */
  blocks?: number
  restart?: boolean
  scan: number[]
  end?: number[]
}

export function handmadeJpeg({ blocks = 1, restart = false, scan, end = [0xff, 0xd9] }: HandmadeJpeg): Buffer {
  return Buffer.from([
    ...[0xff, 0xd8],
    ...segment(0xdb, 0, ...Array<number>(64).fill(1)),
    ...segment(0xc0, 8, 0, 8, 0, 8 * blocks, 1, 1, 0x11, 0),
    ...tables,
    ...(restart ? segment(0xdd, 0, 1) : []),
    ...segment(0xda, 1, 1, 0, 0, 63, 0),
    ...scan,
    ...end,
  ])
}

/** A copy with bytes put in before its end marker. */
export const withBeforeEnd = (bytes: Buffer, extra: number[]) =>
  Buffer.concat([bytes.subarray(0, -2), Buffer.from(extra), bytes.subarray(-2)])
