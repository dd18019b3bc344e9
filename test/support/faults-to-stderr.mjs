// node --import: tells on standard error what nobody handled, and what Node warned of, without changing what comes of it.
import { writeSync } from 'node:fs'

const tell = (kind, what) => writeSync(2, `ASSAY-FAULT ${kind}: ${String(what?.stack ?? what).replaceAll('\n', ' | ')}\n`)

process.on('uncaughtExceptionMonitor', (error, origin) => tell(origin, error))
process.on('warning', (warning) => tell('warning', warning))
// Where the program handles unhandled rejections itself, the monitor above is not told of them.
process.on('newListener', (event, listener) => {
  if (event !== 'unhandledRejection' || listener === noted || process.listeners(event).includes(noted)) return
  process.prependListener(event, noted)
})
function noted(reason) {
  tell('unhandledRejection', reason)
}
