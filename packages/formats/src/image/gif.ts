import {
  checkDeadline,
  createInvalidVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { GifFrameData } from './gif-lzw.js'
import { checkImageSize } from './image-size.js'

/** Checks each block of a GIF, because libvips ignores damage that other programs reject. Counts pixels without storing them. */
export const readGif: FormatReader = (source, limits) => {
  const head = source.read(0, 13)
  if (head.length < 13 || !/^GIF8[79]a$/.test(head.toString('latin1', 0, 6)))
    return createInvalidVerdict('the file does not start with a complete GIF header')
  const width = head.readUInt16LE(6)
  const height = head.readUInt16LE(8)
  const flood = checkImageSize('GIF', { width, height, bits: 8 }, limits)
  if (flood) return flood
  const flags = head[10] as number
  return new GifWalker(source, limits, 13 + getColorTableSize(flags), { width, height }).checkBlocks()
}

const getColorTableSize = (flags: number) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)

class GifWalker {
  private frames = 0

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
    private at: number,
    private readonly evidence: Record<string, unknown>,
  ) {}

  checkBlocks(): FormatVerdict {
    if (this.at > this.source.size) return this.broken('the GIF is truncated within its color table')
    while (this.at < this.source.size) {
      checkDeadline(this.limits)
      const kind = this.source.read(this.at, 1)[0]
      this.at++
      if (kind === 0x3b) return this.createFinalVerdict(this.source.size - this.at)
      const problem =
        kind === 0x2c
          ? this.checkImage()
          : kind === 0x21
            ? this.skipExtension()
            : `the GIF has no valid block at byte ${this.at - 1}`
      if (problem && typeof problem !== 'string') return problem
      if (problem) return this.broken(problem)
    }
    // Other readers accept a missing end marker after a complete image, so it causes only a note.
    return this.frames > 0
      ? createValidVerdict(['the end marker is missing, which viewers tolerate'], this.facts())
      : this.broken('the GIF contains no image')
  }

  private createFinalVerdict(trailingBytes: number): FormatVerdict {
    if (this.frames === 0) return this.broken('the GIF contains no image')
    return trailingBytes > 0
      ? createValidVerdict([`${trailingBytes} bytes follow the end of the image`], {
          ...this.facts(),
          bytes_after_end: trailingBytes,
        })
      : createValidVerdict([], this.facts())
  }

  private facts = () => ({ ...this.evidence, frames: this.frames })
  private broken = (problem: string) => createInvalidVerdict(problem, this.facts())

  private skipExtension(): string | undefined {
    this.at++
    return this.readDataBlocks()
  }

  private checkImage(): string | FormatVerdict | undefined {
    const head = this.source.read(this.at, 9)
    if (head.length < 9) return 'the GIF is truncated within an image header'
    const width = head.readUInt16LE(4)
    const height = head.readUInt16LE(6)
    const flood = checkImageSize('GIF', { width, height, bits: 8 }, this.limits)
    if (flood) return flood
    const flags = head[8] as number
    this.at += 9 + getColorTableSize(flags)
    const codeSize = this.source.read(this.at, 1)[0]
    this.at++
    if (codeSize === undefined) return 'the GIF is truncated within an image header'
    if (codeSize < 1 || codeSize > 11) return `image ${this.frames + 1} of the GIF has the invalid code size ${codeSize}`
    const data = new GifFrameData(codeSize, width * height)
    const problem = this.readDataBlocks(data) ?? data.findProblem()
    if (problem) return `image ${this.frames + 1} of the GIF is damaged: ${problem}`
    this.frames++
    return undefined
  }

  private readDataBlocks(data?: GifFrameData): string | undefined {
    for (;;) {
      checkDeadline(this.limits)
      const block = this.source.read(this.at, 256)
      const length = block[0]
      if (length === undefined || block.length < length + 1) return 'the GIF is truncated'
      this.at += length + 1
      if (length === 0) return undefined
      data?.addBytes(block.subarray(1, length + 1))
    }
  }
}
