import { type Signal, signal } from '@preact/signals'
import { forgetLists } from './api/client.js'
import type { Fault } from './api/fault.js'
import { sendFile } from './api/send-file.js'
import { sendResumable } from './api/send-resumable.js'
import { isOnline, pausesMs } from './online.js'

type State =
  | { kind: 'waiting' | 'sending' | 'judging' }
  | { kind: 'kept'; fileId: string }
  /** It was judged, or could not be sent. */
  | { kind: 'refused' | 'failed'; fault: Fault }

export interface Upload {
  key: number
  file: File
  context: string
  progress: Signal<number>
  state: Signal<State>
  abort: AbortController
  idempotencyKey: string
  /** How often in a row the connection was lost. */
  losses: number
}

/** What was dropped since the page was opened, newest first; it goes on while other views are looked at. */
export const uploads = signal<readonly Upload[]>([])

const mostAtOnce = 3
/** Beyond that a broken connection would cost too much: the rest goes on where it broke off. */
const resumableBytes = 16 * 1024 * 1024
let underWay = 0
let last = 0

export function addUploads(files: Iterable<File>, context: string): void {
  const added = [...files].map(
    (file): Upload => ({
      key: ++last,
      file,
      context,
      progress: signal(0),
      state: signal<State>({ kind: 'waiting' }),
      abort: new AbortController(),
      idempotencyKey: newKey(),
      losses: 0,
    }),
  )
  uploads.value = [...added, ...uploads.peek()]
  next()
}

/** Sends it again: what failed may succeed later, and what was refused may fit a changed context. */
export function retry(upload: Upload): void {
  // A refusal under a key stays that refusal; what was lost on its way may have arrived all the same.
  if (upload.state.peek().kind === 'refused') upload.idempotencyKey = newKey()
  upload.abort = new AbortController()
  upload.progress.value = 0
  upload.state.value = { kind: 'waiting' }
  next()
}

const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

const isLost = (state: State) => state.kind === 'failed' && state.fault.code === 'OFFLINE'

// Back on line, what was lost goes on by itself.
addEventListener('online', () => {
  for (const upload of uploads.peek()) {
    upload.losses = 0
    if (isLost(upload.state.peek())) retry(upload)
  }
})

function retryLater(upload: Upload): void {
  const again = () => isOnline.peek() && isLost(upload.state.peek()) && uploads.peek().includes(upload) && retry(upload)
  const pauseMs = pausesMs[upload.losses++]
  if (pauseMs !== undefined) setTimeout(again, pauseMs)
}

export const clearFinished = (): void => {
  uploads.value = uploads.peek().filter(({ state }) => !isOver(state.peek()))
}

export const isOver = ({ kind }: State): boolean => kind === 'kept' || kind === 'refused' || kind === 'failed'

function next(): void {
  // The oldest first, in the order in which they were dropped.
  const waiting = [...uploads.peek()].sort((a, b) => a.key - b.key).filter(({ state }) => state.peek().kind === 'waiting')
  for (const upload of waiting.slice(0, mostAtOnce - underWay)) {
    underWay++
    void run(upload).finally(() => {
      underWay--
      next()
    })
  }
}

async function run(upload: Upload): Promise<void> {
  const { file, context, progress, state, abort, idempotencyKey } = upload
  state.value = { kind: 'sending' }
  const onProgress = (share: number) => {
    progress.value = share
    if (share === 1) state.value = { kind: 'judging' }
  }
  const send = file.size > resumableBytes ? sendResumable : sendFile<{ file_id: string }>
  const { body, fault } = await send({ file, context, idempotencyKey, onProgress, signal: abort.signal })
  if (body) state.value = { kind: 'kept', fileId: body.file_id }
  else state.value = { kind: isVerdict(fault) ? 'refused' : 'failed', fault }
  if (isLost(state.peek())) retryLater(upload)
  // Once for all that were dropped together: every list on the page is asked anew.
  if (uploads.peek().every((each) => isOver(each.state.peek()))) forgetLists()
}

const verdicts = [
  'INVALID_EXTENSION',
  'SIZE_EXCEEDED',
  'BLANK_FILE',
  'CORRUPT_FILE',
  'VIRUS_DETECTED',
  'SCAN_INCOMPLETE',
  'ENCRYPTED_FILE',
  'ACTIVE_CONTENT',
]

/** The file itself is the reason: sending it again changes nothing. */
const isVerdict = ({ code }: Fault) => verdicts.includes(code)
