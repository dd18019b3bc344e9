const segment = (marker: number, ...content: number[]) => [0xff, marker, 0, content.length + 2, ...content]

/** Huffman tables with a one-bit code for zero, and longer codes for fifteen zeros and for a value. */
const tables = [
  ...segment(0xc4, 0x00, 1, ...Array<number>(15).fill(0), 0),
  ...segment(0xc4, 0x10, 1, 1, ...Array<number>(14).fill(0), 0, 0xf1),
]

/** Code of a block without coefficients. */
export const emptyBlock = [0x3f]
/** Code of a block with 65 coefficients, one too many. */
export const fullBlock = [0x5b, 0x6f]

interface HandmadeJpeg {
  /** Number of blocks per restart interval. */
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

/** Returns a copy with bytes inserted before the end marker. */
export const withBeforeEnd = (bytes: Buffer, extra: number[]) =>
  Buffer.concat([bytes.subarray(0, -2), Buffer.from(extra), bytes.subarray(-2)])
