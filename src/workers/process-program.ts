import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { type Answer, answer } from './work.js'

/** What a process is sent. */
export type ToProcess =
  | { module: string; run: string; data: unknown; bytes?: Uint8Array | undefined; settings?: Uint8Array | undefined }
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
} catch {
  // Not Linux, or not allowed.
}

// Before the first work: what goes wrong here is not a file's fault, nor is it its time.
const loaded = import(process.argv[2]!).then((module) => 'prepare' in module)

process.on('message', async (message: ToProcess) => {
  if ('cancel' in message) {
    cancelled = true
    return
  }
  const prepares = await loaded
  cancelled = false
  const { bytes, ...work } = message
  settings = work.settings ?? settings
  const content = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const begun = () => prepares && send({ begun: true })
  send(await answer(work, { bytes: content, settings, cancelled: () => cancelled }, begun))
})

send({ ready: true, prepares: await loaded })
