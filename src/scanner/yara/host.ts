import { type FromHost, ScanThread, type ToHost } from './scan-worker.js'

/**
 * The process around a scan thread that runs an operator's rules natively. A condition may loop for ever, and nothing ends native code but
 * the end of its process: this one is ended then, and the service is none the worse.
 */
let thread: ScanThread | undefined
const say = (message: FromHost) => process.send?.(message)

process.on('message', (message: ToHost) => {
  if ('setup' in message) thread = new ScanThread(message.setup, { hear: say, lost: (how) => say({ kind: 'lost', how }) })
  else if ('job' in message) thread?.send(message.job)
  else thread?.cancel(message.cancel)
})
// The service is gone, and there may be a thread that cannot be waited for.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
