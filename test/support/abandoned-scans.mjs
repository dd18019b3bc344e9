// Run as a process of its own, where an unhandled rejection is the end: scans that are given up, each in another bad way. Prints one line each.
import { createValidator } from '../../dist/inspection/engine/validator.js'

const large = Buffer.alloc(1_048_576, 'no pdf ')
const content = { size: large.length, sha256: '', bytes: large, stream: () => [large] }
const rules = { contextKey: 'c', allowedExtensions: ['pdf'], maxFileSizeMb: 10, scanForViruses: true }
const identity = async () => ({ name: 'Odd', version: '1', signaturesVersion: '1', signaturesDate: null })
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** How a scanner may fail over a scan that nobody waits for any more. */
const scans = {
  'at once': async () => {
    throw new Error('at once')
  },
  'with a throw': () => {
    throw new Error('no promise at all')
  },
  'when aborted': (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  'long after it was aborted': async (_, { signal }) => {
    while (!signal.aborted) await later(1)
    await later(30)
    throw new Error('late')
  },
  never: () => new Promise(() => {}),
}
for (const [how, scan] of Object.entries(scans)) {
  const scanner = { scan, identity, prove: async () => {}, close: async () => {} }
  const validator = createValidator({ scanner, workers: 1 })
  const judge = (rejectCorruptFiles, signal = new AbortController().signal) =>
    validator.validate({
      originalFilename: 'a.pdf',
      content,
      sizeBytes: large.length,
      signal,
      rules: { ...rules, rejectBlankFiles: rejectCorruptFiles, rejectCorruptFiles },
    })
  const refused = await judge(true)
  const hungUp = new AbortController()
  const left = judge(true, hungUp.signal).catch((reason) => reason.message)
  hungUp.abort(new Error('gone'))
  const closed = judge(true).catch((error) => error.code)
  await validator.close()
  console.log([how, refused.reason, await left, await closed].join(', '))
}
await later(100)
