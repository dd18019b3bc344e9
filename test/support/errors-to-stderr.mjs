// Preloaded with `node --import`. Prints unhandled errors and Node.js warnings to standard error.
import { writeSync } from 'node:fs'

const printFault = (kind, what) => writeSync(2, `ASSAY-FAULT ${kind}: ${String(what?.stack ?? what).replaceAll('\n', ' | ')}\n`)

process.on('uncaughtExceptionMonitor', (error, origin) => printFault(origin, error))
process.on('warning', (warning) => printFault('warning', warning))
// The monitor above does not receive unhandled rejections if the program handles them.
process.on('newListener', (event, listener) => {
  if (
    event !== 'unhandledRejection' ||
    listener === onUnhandledRejection ||
    process.listeners(event).includes(onUnhandledRejection)
  )
    return
  process.prependListener(event, onUnhandledRejection)
})
function onUnhandledRejection(reason) {
  printFault('unhandledRejection', reason)
}
