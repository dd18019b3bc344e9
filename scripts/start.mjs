// npm start: prepares the clone, then runs the service in the same process. This avoids forwarding signals and keeping a second
// Node.js process in memory.
import { exitOnError, prepare } from './prepare.mjs'

await exitOnError(() => prepare())
exitWithNpm()
await import('../dist/main.js')

/** Ends the service if npm is killed with SIGKILL, which npm cannot forward. */
function exitWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return
  const npm = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  watch.unref()
}
