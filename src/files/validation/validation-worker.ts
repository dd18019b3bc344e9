import { parentPort, workerData } from 'node:worker_threads'
import { examine, type ReaderOverrides } from './examine.js'
import type { Findings, Job } from './findings.js'
import { FileSource, MemorySource } from './source.js'

/** What the pool hands to each worker at its start. */
export interface WorkerSettings {
  /** A module with an export `readers` that replaces the readers of some extensions. */
  readerModule?: string
}

const port = parentPort
if (!port) throw new Error('validation-worker runs in a worker thread only')

const { readerModule } = workerData as WorkerSettings
const overrides: Promise<ReaderOverrides> = readerModule
  ? import(readerModule).then((module) => module.readers)
  : Promise.resolve({})

// Telling the pool of every check would cost a small file more than the checks do.
const worthTellingMs = 50

port.on('message', async (job: Job) => {
  port.postMessage(await answer(job))
})
// Starting up is not the first file's time.
port.postMessage({ began: true })

async function answer(job: Job): Promise<{ findings: Findings } | { error: string }> {
  let file: FileSource | undefined
  try {
    if (!job.bytes) file = new FileSource(job.path!, job.extension)
    const source = file ?? new MemorySource(job.bytes!, job.extension)
    const start = performance.now()
    const began = () => performance.now() - start > worthTellingMs && port?.postMessage({ began: true })
    return { findings: await examine(source, job, await overrides, began) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  } finally {
    file?.close()
  }
}
