/** Log checkpoint (C2SP tlog-checkpoint): the number of entries in the log and their root hash. */
export interface Checkpoint {
  origin: string
  size: number
  root: Buffer
}

/** Formats a checkpoint as the text of a signed note. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${root.toString('base64')}\n`

/** Parses a checkpoint from the text of a signed note. Returns undefined if the text is not a checkpoint. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin, size, root] = text.split('\n')
  if (!origin || !size || !root || !/^(0|[1-9]\d{0,15})$/.test(size)) return undefined
  const bytes = Buffer.from(root, 'base64')
  const isValid = bytes.length === 32 && bytes.toString('base64') === root && Number.isSafeInteger(Number(size))
  return isValid ? { origin, size: Number(size), root: bytes } : undefined
}
