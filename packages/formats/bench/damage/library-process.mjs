/** Runs the libraries in a child process, because a damaged file can crash a library or make it loop forever. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { libraries } from './libraries.mjs'

const timeoutMs = 5_000

if (process.send) {
  process.on('message', async ({ type, bytes }) => process.send(await libraries.get(type).rejects(Buffer.from(bytes))))
}

let child
/** Resolves the current request. The child process handles one request at a time. */
let finish

function startChildProcess() {
  child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced', stdio: 'ignore' })
  child.on('message', (rejects) => finish(rejects))
  child.on('exit', () => {
    child = undefined
    finish(true)
  })
}

/** True if the library for the type rejects the bytes, crashes or does not finish in time. */
export async function isRejectedByLibrary(type, bytes) {
  if (!child) startChildProcess()
  const running = child
  const timer = setTimeout(() => running.kill('SIGKILL'), timeoutMs)
  const rejects = await new Promise((resolve) => {
    finish = resolve
    running.send({ type, bytes })
  })
  clearTimeout(timer)
  return rejects
}
