// Preloaded with `node --import`. Prints unhandled errors and Node.js warnings to standard error.
import { writeSync } from 'node:fs'

const report = (kind, what) => writeSync(2, `ASSAY-FAULT ${kind}: ${String(what?.stack ?? what).replaceAll('\n', ' | ')}\n`)

process.on('uncaughtExceptionMonitor', (error, origin) => report(origin, error))
process.on('warning', (warning) => report('warning', warning))
// The monitor above does not receive unhandled rejections if the program handles them.
process.on('newListener', (event, listener) => {
  if (event !== 'unhandledRejection' || listener === noted || process.listeners(event).includes(noted)) return
  process.prependListener(event, noted)
})
function noted(reason) {
  report('unhandledRejection', reason)
}
