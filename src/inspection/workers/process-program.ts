import { readSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { type Answer, answer, contentPipe } from './work.js'

/** What a process is sent; so many bytes of content come by a pipe of their own. */
export type ToProcess =
  | { module: string; run: string; data: unknown; contentBytes: number | undefined; settings?: Uint8Array | undefined }
  | { cancel: true }

/** What it sends: that it is ready, and whether it tells when a work is prepared, too; then an answer to each work. */
export type FromProcess = { ready: true; prepares: boolean } | { begun: true } | Answer

const send = (message: FromProcess) => process.send?.(message)
let cancelled = false
let settings: Uint8Array | undefined

// Nothing is left to do it for, whatever happened to the service. Not exit(), which waits for native code under way.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Native code may hold this thread for ever: another one sees the service's end.
const watch = `const { ppid } = process; setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGKILL'), 500)`
new Worker(watch, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 } }).unref()
// A terminal and a service manager signal all processes at once. The service still lets uploads finish, and ends this one then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

try {
  // Where memory runs out, the kernel is to take this process and not the service.
  writeFileSync('/proc/self/oom_score_adj', '800')
} catch {}

// Before the first work: what goes wrong here is not a file's fault, nor is it its time.
const loaded = import(process.argv[2]!).then((module) => 'prepare' in module)

process.on('message', async (message: ToProcess) => {
  if ('cancel' in message) {
    cancelled = true
    return
  }
  const prepares = await loaded
  cancelled = false
  const { contentBytes, ...work } = message
  const bytes = contentBytes === undefined ? undefined : received(contentBytes)
  settings = work.settings ?? settings
  const begun = () => prepares && send({ begun: true })
  send(await answer(work, { bytes, settings, cancelled: () => cancelled }, begun))
})

function received(size: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(size)
  for (let at = 0; at < size; ) {
    const read = readSync(contentPipe, bytes, at, size - at, null)
    if (read === 0) throw new Error('the service is gone')
    at += read
  }
  return bytes
}

send({ ready: true, prepares: await loaded })
