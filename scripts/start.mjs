// npm start: prepares the clone, then runs the service in the same process. Signals and the exit status need no forwarding, and
// no second Node process stays in memory.
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare())
endWithNpm()
await import('../dist/main.js')

/** npm forwards SIGTERM. If npm itself is killed with -9, the service must end too. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return
  const npm = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  watch.unref()
}
