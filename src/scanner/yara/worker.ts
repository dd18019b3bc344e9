import { parentPort, workerData } from 'node:worker_threads'
import { FileSource, MemorySource } from '../../validation/source.js'
import { lookAt } from '../unpack.js'
import type { ScanVerdict } from '../virus-scanner.js'
import { FaultyRules, openEngine, type YaraEngine } from './engine.js'
import type { WorkerAnswer, WorkerJob, WorkerSetup } from './messages.js'
import { Cancelled } from './stopped.js'

const port = parentPort!
const setup = workerData as WorkerSetup
const cancelled = new Int32Array(setup.cancelled)
const say = (answer: WorkerAnswer) => port.postMessage(answer)

try {
  const engine = await openEngine(setup.kind, setup.operators)
  port.on('message', (job: WorkerJob) => void judge(job, engine))
  say({ kind: 'ready', version: engine.version, rules: engine.rules })
} catch (error) {
  if (!(error instanceof FaultyRules)) throw error
  say({ kind: 'faulty-rules', message: error.message })
}

async function judge(job: WorkerJob, engine: YaraEngine): Promise<void> {
  try {
    say({ kind: 'verdict', id: job.id, verdict: await look(job, engine) })
  } catch (error) {
    say({ kind: 'fault', id: job.id, message: String((error as Error).message), cancelled: error instanceof Cancelled })
  }
}

async function look(job: WorkerJob, engine: YaraEngine): Promise<ScanVerdict> {
  const file = job.path === undefined ? undefined : new FileSource(job.path, '')
  const source = file ?? new MemorySource(job.bytes!, '')
  try {
    const provedAt = engine.prove()
    const isCancelled = () => Atomics.load(cancelled, 0) === job.id
    return { ...(await lookAt(source, { find: engine.find, limits: setup.limits, cancelled: isCancelled })), provedAt }
  } finally {
    file?.close()
  }
}
