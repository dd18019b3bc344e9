import { MessageChannel, type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Decoded, decodeImagesWith } from '../formats/image/vips.js'
import type { RandomAccessSource } from '../formats/random-access-source.js'
import type { ImageQuestion } from '../workers/image-worker.js'
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

let underTest: { source: RandomAccessSource; job: Job; sent: boolean } | undefined
let images: MessagePort | undefined
let decoded: ((answer: Decoded) => void) | undefined

/** The first image makes the pool provide a process for them, which is asked without it. Where that dies, so does this thread. */
decodeImagesWith((source, task) => {
  if (!underTest || source !== underTest.source) throw new Error('only the file under test is decoded')
  images ??= openImages()
  const { job, sent } = underTest
  const file = sent ? {} : job.bytes ? { bytes: job.bytes } : { path: job.path! }
  images.postMessage({ ...file, task } satisfies ImageQuestion)
  underTest.sent = true
  return new Promise((resolve) => {
    decoded = resolve
  })
})

function openImages(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port1.on('message', (answer: { decoded: Decoded }) => decoded?.(answer.decoded))
  port?.postMessage({ images: port2 }, [port2])
  return port1
}

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
    underTest = { source, job, sent: false }
    const start = performance.now()
    const began = () => performance.now() - start > worthTellingMs && port?.postMessage({ began: true })
    return { findings: await examine(source, job, await overrides, began) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  } finally {
    file?.close()
  }
}
