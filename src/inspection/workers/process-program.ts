import { readSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { contentPipe, runTask, type TaskResult } from './work.js'

/** Messages to a worker process. `contentBytes` bytes of content follow in a separate pipe. */
export type ToProcess =
  | { module: string; run: string; data: unknown; contentBytes: number | undefined; settings?: Uint8Array | undefined }
  | { cancel: true }

export type FromProcess = { ready: true } | TaskResult

const sendMessage = (message: FromProcess) => process.send?.(message)
let cancelled = false
let settings: Uint8Array | undefined

// The connection closes when the service exits. Use SIGKILL, because `process.exit` would wait for native code that is still
// running.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Watch the parent process in another thread, because native code may block this one forever.
const watch = `const { ppid } = process; setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGKILL'), 500)`
new Worker(watch, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 } }).unref()
// Ignore these signals, because a terminal sends them to all processes. The service ends this process after its uploads are
// complete.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

try {
  // Raise the OOM score, so that the kernel kills this process rather than the service if memory runs out.
  writeFileSync('/proc/self/oom_score_adj', '800')
} catch {}

// Load the module before the first task, so that load errors and load time are not attributed to a file.
const loaded = import(process.argv[2]!)

process.on('message', async (message: ToProcess) => {
  if ('cancel' in message) {
    cancelled = true
    return
  }
  await loaded
  cancelled = false
  const { contentBytes, ...task } = message
  const bytes = contentBytes === undefined ? undefined : readContent(contentBytes)
  settings = task.settings ?? settings
  sendMessage(await runTask(task, { bytes, settings, cancelled: () => cancelled }))
})

function readContent(size: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(size)
  for (let at = 0; at < size; ) {
    const read = readSync(contentPipe, bytes, at, size - at, null)
    if (read === 0) throw new Error('The service closed the content pipe.')
    at += read
  }
  return bytes
}

await loaded
sendMessage({ ready: true })
