// A process that looks at an image which never ends, to be killed in the middle of it: prints the process that decodes.
import { fileURLToPath } from 'node:url'
import { openLocalContent } from '../../dist/inspection/engine/local-content.js'
import { createValidator } from '../../dist/inspection/engine/validator.js'

const validator = createValidator({
  scanner: {},
  deadlineMs: 600_000,
  decoderModule: new URL('hostile-decoder.mjs', import.meta.url).href,
})
const content = await openLocalContent(process.argv[2])
void validator.validate({
  originalFilename: 'a.tif',
  content,
  sizeBytes: content.size,
  signal: new AbortController().signal,
  rules: { contextKey: 'a', allowedExtensions: ['tif'], maxFileSizeMb: 10, rejectCorruptFiles: true },
})
const look = setInterval(() => {
  const [pid] = validator.pool.processes
  if (!pid) return
  clearInterval(look)
  console.log(JSON.stringify({ pid, of: fileURLToPath(import.meta.url) }))
}, 5)
