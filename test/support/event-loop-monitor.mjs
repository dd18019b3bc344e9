// Preloaded with `node --import`. Measures the main thread's CPU time between pauses of the event loop. Wall time would depend on
// machine load. The clock is clock_time_get(CLOCK_THREAD_CPUTIME_ID) from WASI (1 us per call), because Node.js has no such
// clock. A *turn* is the time between two check phases and may contain many callbacks. A *hold* is one callback with its ticks
// and microtasks. Separating holds requires async_hooks, which slows promises, so holds are slightly overstated.
import { createHook, executionAsyncResource } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { findSlowFunctions } from './slow-functions.mjs'

async function monitorEventLoop() {
  const cpu = await createThreadClock()
  let watching = false
  let found = createEmptyResult()
  let turnBegan = { cpu: cpu(), at: readClock() }
  let hold = { ...turnBegan, callback: 'loop' }
  const collections = []

  const endHold = (now) => {
    const ms = now.cpu - hold.cpu
    found.holds++
    if (ms > found.worstHold) found.worstHold = ms
    if (watching && ms >= minReportedMs) found.slow.push({ ms, from: hold.at, to: now.at, callback: hold.callback })
  }
  const recordTurn = () => {
    const now = { cpu: cpu(), at: readClock() }
    endHold(now)
    found.turns++
    found.worstTurn = Math.max(found.worstTurn, now.cpu - turnBegan.cpu)
    turnBegan = now
    hold = { ...now, callback: 'loop' }
    setImmediate(recordTurn).unref()
  }
  setImmediate(recordTurn).unref()

  const hook = createHook({
    before: () => {
      const resource = executionAsyncResource()
      // A continuation or tick belongs to the preceding callback.
      if (resource instanceof Promise || typeof resource?.callback === 'function') return
      const now = { cpu: cpu(), at: readClock() }
      endHold(now)
      hold = { ...now, callback: resource?.constructor?.name ?? 'unknown' }
    },
  })
  new PerformanceObserver((list) => {
    for (const { startTime, duration, detail } of list.getEntries())
      collections.push({ from: startTime + performanceStart, ms: duration, kind: detail.kind })
  }).observe({ type: 'gc' })

  const session = new Session()
  session.connect()
  const sendInspectorCommand = (method, params) =>
    new Promise((resolve, reject) => session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))))

  const commands = {
    begin: async ({ profile, split }) => {
      if (profile) {
        await sendInspectorCommand('Profiler.enable')
        await sendInspectorCommand('Profiler.setSamplingInterval', { interval: 500 })
        await sendInspectorCommand('Profiler.start')
      }
      if (split) hook.enable()
      // Excludes work done by the measurement.
      await waitBriefly()
      watching = true
      found = createEmptyResult()
      collections.length = 0
      return {}
    },
    end: async ({ profile }) => {
      await waitBriefly()
      watching = false
      hook.disable()
      const { slow, ...sums } = found
      const slowest = slow.sort((one, other) => other.ms - one.ms).slice(0, 12)
      const samples = profile ? (await sendInspectorCommand('Profiler.stop')).profile : undefined
      return { ...sums, slow: slowest.map((each) => ({ ...each, ...findSlowFunctions(each, samples, collections) })) }
    },
    /** Blocks the event loop to test the measurement. */
    burn: async ({ ms }) => {
      const until = cpu() + ms
      while (cpu() < until);
      return {}
    },
  }
  process.on('message', async ({ id, command, ...options }) => {
    process.send({ id, ...(await commands[command](options)) })
  })
  // The channel to the parent must not keep the process alive.
  process.channel.unref()
}

// Holds above this CPU time are reported with their functions.
const minReportedMs = 3
const createEmptyResult = () => ({ turns: 0, holds: 0, worstTurn: 0, worstHold: 0, slow: [] })
const waitBriefly = () => new Promise((resolve) => setTimeout(resolve, 5))

// Returns the time in milliseconds on the clock that the V8 profiler uses.
const readClock = () => Number(process.hrtime.bigint()) / 1e6
const performanceStart = readClock() - performance.now()

/** Returns a function that reads this thread's CPU time in milliseconds. */
async function createThreadClock() {
  const { emitWarning } = process
  // Suppresses the warning that WASI is experimental.
  process.emitWarning = () => {}
  const { WASI } = await import('node:wasi')
  process.emitWarning = emitWarning
  const wasi = new WASI({ version: 'preview1' })
  const memory = new WebAssembly.Memory({ initial: 1 })
  wasi.initialize({ exports: { memory } })
  const response = new BigUint64Array(memory.buffer, 0, 1)
  const threadCpu = 3
  return () => {
    if (wasi.wasiImport.clock_time_get(threadCpu, 0n, 0) !== 0)
      throw new Error('This system cannot measure the CPU time of a thread.')
    return Number(response[0]) / 1e6
  }
}

if (isMainThread && process.send) await monitorEventLoop()
