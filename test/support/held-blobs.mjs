// node --import: a blob below HELD_STORE is not made before the process is sent SIGUSR2, and it says when one waits for that: a slow disk.
import fs from 'node:fs'

const { open } = fs

fs.open = (path, flags, ...rest) => {
  const isBlob = flags & fs.constants.O_EXCL && path.startsWith(process.env.HELD_STORE)
  if (!isBlob) return open(path, flags, ...rest)
  process.once('SIGUSR2', () => open(path, flags, ...rest))
  console.log('A blob waits for its disk.')
}
