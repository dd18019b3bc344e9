// Readers that fail in different ways. Validation workers load them as `readerModule`.
import { existsSync, writeFileSync } from 'node:fs'

const valid = { sound: true, notes: [], evidence: {} }

/** Crashes on the first file and succeeds later. The file contains the path of its marker. */
const failFirstTime = (source, then) => {
  const mark = source.readAll(4096).toString('utf8').trim()
  if (existsSync(mark)) return valid
  writeFileSync(mark, '')
  return then()
}

const loopForever = () => {
  for (;;);
}

export const readers = {
  die: () => process.exit(3),
  throwlate: () =>
    new Promise(() =>
      setImmediate(() => {
        throw new Error('out of nowhere')
      }),
    ),
  hang: loopForever,
  never: () => new Promise(() => {}),
  hoard: () => {
    const held = []
    for (;;) held.push(Array.from({ length: 100_000 }, (_, at) => ({ at })))
  },
  throw: () => {
    throw new RangeError('offset is out of range')
  },
  dieonce: (source) => failFirstTime(source, () => process.exit(3)),
  hangonce: (source) => failFirstTime(source, loopForever),
  slow: () => new Promise((resolve) => setTimeout(resolve, 150, valid)),
  chatty: () => {
    for (let line = 0; line < 10_000; line++) console.log('x'.repeat(100))
    return valid
  },
}
