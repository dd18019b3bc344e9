// Preloaded with `node --import`. Simulates a slow disk: delays blobs below HELD_STORE until SIGUSR2, and prints a line for each
// delayed blob.
import fs from 'node:fs'

const { open } = fs

fs.open = (path, flags, ...rest) => {
  const isBlob = flags & fs.constants.O_EXCL && path.startsWith(process.env.HELD_STORE)
  if (!isBlob) return open(path, flags, ...rest)
  process.once('SIGUSR2', () => open(path, flags, ...rest))
  console.log('A blob waits for the disk.')
}
