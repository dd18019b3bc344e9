/** What a checkpoint of C2SP's tlog-checkpoint says: so many entries has that log, with that root. */
export interface Checkpoint {
  origin: string
  size: number
  root: Buffer
}

export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${root.toString('base64')}\n`

/** Reads a note's text; undefined where it is no checkpoint. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin, size, root] = text.split('\n')
  if (!origin || !size || !root || !/^(0|[1-9]\d{0,15})$/.test(size)) return undefined
  const bytes = Buffer.from(root, 'base64')
  const isValid = bytes.length === 32 && bytes.toString('base64') === root && Number.isSafeInteger(Number(size))
  return isValid ? { origin, size: Number(size), root: bytes } : undefined
}
