/** What a path of C2SP's tlog-tiles names: hashes of one level, or the entries below them. */
export interface TilePath {
  level: number | 'entries'
  place: number
  /** How many of its 256 are asked for. */
  width: number
}

export const tileWidth = 256

const tilePathPattern = /^(entries|0|[1-9]\d?)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Reads what follows `tile/`; undefined for all that is not the one right spelling of a tile. */
export function parseTilePath(path: string): TilePath | undefined {
  const [, level, place, width] = tilePathPattern.exec(path) ?? []
  if (level === undefined || place === undefined) return undefined
  const digits = place.replaceAll(/[x/]/g, '')
  const isPadded = place.startsWith('x000')
  const tile = {
    level: level === 'entries' ? level : Number(level),
    place: Number(digits),
    width: width === undefined ? tileWidth : Number(width),
  } as const
  const exists =
    !isPadded && Number.isSafeInteger((tile.place + 1) * tileWidth) && (width === undefined || tile.width < tileWidth)
  return exists ? tile : undefined
}

/** An entry bundle: each entry behind its length, in two bytes. */
export function encodeEntryBundle(entries: readonly string[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const text = Buffer.from(entry)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(text.length)
      return [length, text]
    }),
  )
}
