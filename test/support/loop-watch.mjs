// Loaded into the service by `node --import`: tells how much CPU time its event loop spends without a pause.
//
// What counts is time on the CPU of the main thread, not time on the clock: a busy machine takes the CPU away, and would make a
// slow turn of every turn. Node has no such clock, but WASI has: clock_time_get(CLOCK_THREAD_CPUTIME_ID), 1 us a reading.
// A *turn* is what lies between two runs of the loop's check phase (an immediate that does not keep the loop awake); it may hold
// many callbacks. A *hold* is one callback with its ticks and microtasks: nothing else is served until it is over. Holds are told
// apart by async_hooks, which makes promises dearer: holds are somewhat overstated, never understated.
import { createHook, executionAsyncResource } from 'node:async_hooks'
import { Session } from 'node:inspector'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { culprits } from './loop-culprits.mjs'

async function watch() {
  const cpu = await threadClock()
  let watching = false
  let found = nothing()
  let turnBegan = { cpu: cpu(), at: clock() }
  let hold = { ...turnBegan, callback: 'loop' }
  const collections = []

  const endHold = (now) => {
    const ms = now.cpu - hold.cpu
    found.holds++
    if (ms > found.worstHold) found.worstHold = ms
    if (watching && ms >= worthTelling) found.slow.push({ ms, from: hold.at, to: now.at, callback: hold.callback })
  }
  const turn = () => {
    const now = { cpu: cpu(), at: clock() }
    endHold(now)
    found.turns++
    found.worstTurn = Math.max(found.worstTurn, now.cpu - turnBegan.cpu)
    turnBegan = now
    hold = { ...now, callback: 'loop' }
    setImmediate(turn).unref()
  }
  setImmediate(turn).unref()

  const hook = createHook({
    before: () => {
      const resource = executionAsyncResource()
      // A continuation or a tick: part of the callback that it follows.
      if (resource instanceof Promise || typeof resource?.callback === 'function') return
      const now = { cpu: cpu(), at: clock() }
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
  const post = (method, params) =>
    new Promise((resolve, reject) => session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))))

  const commands = {
    begin: async ({ profile, split }) => {
      if (profile) {
        await post('Profiler.enable')
        await post('Profiler.setSamplingInterval', { interval: 500 })
        await post('Profiler.start')
      }
      if (split) hook.enable()
      // What has been done for the watching itself is no part of what is watched.
      await later()
      watching = true
      found = nothing()
      collections.length = 0
      return {}
    },
    end: async ({ profile }) => {
      await later()
      watching = false
      hook.disable()
      const { slow, ...sums } = found
      const told = slow.sort((one, other) => other.ms - one.ms).slice(0, 12)
      const samples = profile ? (await post('Profiler.stop')).profile : undefined
      return { ...sums, slow: told.map((each) => ({ ...each, ...culprits(each, samples, collections) })) }
    },
    /** Holds the loop on purpose, which proves that the watching sees it. */
    burn: async ({ ms }) => {
      const until = cpu() + ms
      while (cpu() < until);
      return {}
    },
  }
  process.on('message', async ({ id, command, ...options }) => {
    process.send({ id, ...(await commands[command](options)) })
  })
  // As if nobody watched: the channel keeps nothing alive.
  process.channel.unref()
}

// Of CPU: holds from this on are told with their culprit.
const worthTelling = 3
const nothing = () => ({ turns: 0, holds: 0, worstTurn: 0, worstHold: 0, slow: [] })
const later = () => new Promise((resolve) => setTimeout(resolve, 5))

// Milliseconds of the clock that V8's profiler counts in.
const clock = () => Number(process.hrtime.bigint()) / 1e6
const performanceStart = clock() - performance.now()

/** Milliseconds of CPU that this thread has used. */
async function threadClock() {
  const { emitWarning } = process
  // That WASI is experimental matters to nobody here, and must not stand in what the service says.
  process.emitWarning = () => {}
  const { WASI } = await import('node:wasi')
  process.emitWarning = emitWarning
  const wasi = new WASI({ version: 'preview1' })
  const memory = new WebAssembly.Memory({ initial: 1 })
  wasi.initialize({ exports: { memory } })
  const answer = new BigUint64Array(memory.buffer, 0, 1)
  const threadCpu = 3
  return () => {
    if (wasi.wasiImport.clock_time_get(threadCpu, 0n, 0) !== 0)
      throw new Error('This system has no clock for the CPU time of a thread.')
    return Number(answer[0]) / 1e6
  }
}

if (isMainThread && process.send) await watch()
