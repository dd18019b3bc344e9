export interface FrameComponent {
  id: number
  across: number
  down: number
  quantization: number
}

export interface JpegFrame {
  width: number
  height: number
  components: FrameComponent[]
  /** True if all readers support the image: 8 bits per sample, 1, 3 or 4 components, and sampling factors up to 4. */
  isCommon: boolean
}

const maxDimension = 65_500

/** Parses the frame header of a sequential JPEG. Returns undefined if the header is invalid. */
export function readJpegFrame(body: Buffer): JpegFrame | undefined {
  if (body.length < 6) return undefined
  const count = body[5]!
  const components: FrameComponent[] = []
  for (let at = 6; at + 3 <= body.length && components.length < count; at += 3)
    components.push({ id: body[at]!, across: body[at + 1]! >> 4, down: body[at + 1]! & 15, quantization: body[at + 2]! })
  if (components.length === 0 || components.some(({ across, down }) => across === 0 || down === 0)) return undefined
  const [height, width] = [body.readUInt16BE(1), body.readUInt16BE(3)]
  const isCommon =
    body[0] === 8 &&
    [1, 3, 4].includes(count) &&
    body.length === 6 + 3 * count &&
    Math.max(width, height) <= maxDimension &&
    new Set(components.map(({ id }) => id)).size === count &&
    components.every(({ across, down }) => across <= 4 && down <= 4)
  return { width, height, components, isCommon }
}
