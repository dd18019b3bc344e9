// Decodes an endless image in a process that the test kills. Prints the id of the decoder process.
import { fileURLToPath } from 'node:url'
import { createInspector } from '../../dist/inspection/engine/inspect.js'
import { openLocalContent } from '../../dist/platform/spool/content.js'

const inspector = createInspector({
  scanner: {},
  deadlineMs: 600_000,
  decoderModule: new URL('hostile-decoder.mjs', import.meta.url).href,
})
const content = await openLocalContent(process.argv[2])
void inspector.inspect({
  originalFilename: 'a.tif',
  content,
  sizeBytes: content.size,
  signal: new AbortController().signal,
  rules: { contextKey: 'a', allowedExtensions: ['tif'], maxFileSizeMb: 10, rejectCorruptFiles: true },
})
const look = setInterval(() => {
  const [pid] = inspector.pool.processes.pids
  if (!pid) return
  clearInterval(look)
  console.log(JSON.stringify({ pid, of: fileURLToPath(import.meta.url) }))
}, 5)
