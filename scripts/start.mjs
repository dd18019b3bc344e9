// npm start: prepares the clone, then becomes the service. In this very process, so that signals and the exit
// status need no forwarding and no second Node process stands by (as npm-run-all and the like would have).
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare())
endWithNpm()
await import('../dist/main.js')

/** npm hands on a SIGTERM, but not its own death by `kill -9`, after which the service would go on unseen. */
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
