/** Address of a tile (C2SP tlog-tiles). A tile contains either log entries or the hashes of one level. */
export interface TilePath {
  level: number | 'entries'
  /** Index of the tile within its level. */
  place: number
  /** Number of requested hashes or entries, at most 256. */
  width: number
}

export const tileWidth = 256

const tilePathPattern = /^(entries|0|[1-9]\d?)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Parses the part of a tile path after `tile/`. Returns undefined if the path is not canonical. */
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

/** Encodes an entry bundle, in which each entry is preceded by its length as a 16-bit big-endian integer. */
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
