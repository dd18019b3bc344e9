import type { Frame } from './frames.js'

const kilobits: Record<string, number[]> = {
  '1/1': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1/2': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1/3': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2/1': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2/2': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  '2/3': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
const rates = [44100, 48000, 32000]

/** Parses the frame header at `offset`. Returns undefined if it is invalid or uses the rare free format (no bit rate). */
export function parseMp3Frame(bytes: Buffer, offset: number): Frame | undefined {
  if (offset + 4 > bytes.length || bytes[offset] !== 0xff) return undefined
  const second = bytes[offset + 1] as number
  const third = bytes[offset + 2] as number
  if ((second & 0xe0) !== 0xe0) return undefined
  const versionCode = (second >> 3) & 3
  const layerCode = (second >> 1) & 3
  const rateCode = third >> 4
  const samplingCode = (third >> 2) & 3
  if (versionCode === 1 || layerCode === 0 || rateCode === 15 || rateCode === 0 || samplingCode === 3) return undefined
  const version = versionCode === 3 ? 1 : 2
  const layer = 4 - layerCode
  const bits = (kilobits[`${version}/${layer}`]?.[rateCode] ?? 0) * 1000
  const sampling = (rates[samplingCode] as number) / (versionCode === 3 ? 1 : versionCode === 2 ? 2 : 4)
  const padding = (third >> 1) & 1
  const length =
    layer === 1
      ? (Math.floor((12 * bits) / sampling) + padding) * 4
      : Math.floor(((layer === 3 && version === 2 ? 72 : 144) * bits) / sampling) + padding
  return length < 8 ? undefined : { kind: (versionCode << 4) | (layerCode << 2) | samplingCode, length }
}
