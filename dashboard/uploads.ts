import { type Signal, signal } from '@preact/signals'
import type { ApiError } from './api/api-error.js'
import { reloadData } from './api/client.js'
import { sendFile } from './api/send-file.js'
import { uploadResumable } from './api/send-resumable.js'
import { isOnline, retryDelaysMs } from './connection.js'

type UploadState =
  | { kind: 'waiting' | 'uploading' | 'validating' }
  | { kind: 'accepted'; fileId: string }
  /** `rejected` means that the service rejected the file. `failed` means that the file could not be sent. */
  | { kind: 'rejected' | 'failed'; error: ApiError }

export interface Upload {
  key: number
  file: File
  context: string
  progress: Signal<number>
  state: Signal<UploadState>
  abort: AbortController
  idempotencyKey: string
  /** Number of consecutive lost connections. */
  connectionLosses: number
}

/** Uploads since the page was opened, newest first. They continue while the user visits other pages. */
export const uploads = signal<readonly Upload[]>([])

const maxConcurrentUploads = 3
/** Larger files are uploaded in chunks, so that an upload can be resumed after a lost connection. */
const minResumableBytes = 16 * 1024 * 1024
let activeUploads = 0
let lastKey = 0

export function addUploads(files: Iterable<File>, context: string): void {
  const newUploads = [...files].map(
    (file): Upload => ({
      key: ++lastKey,
      file,
      context,
      progress: signal(0),
      state: signal<UploadState>({ kind: 'waiting' }),
      abort: new AbortController(),
      idempotencyKey: generateIdempotencyKey(),
      connectionLosses: 0,
    }),
  )
  uploads.value = [...newUploads, ...uploads.peek()]
  startWaitingUploads()
}

/** Retries an upload. The service may accept a rejected file after its context has changed. */
export function retryUpload(upload: Upload): void {
  // After a rejection, use a new idempotency key, because the service returns the stored response for a known key. After a lost
  // connection, keep the key, because the service may have stored the file.
  if (upload.state.peek().kind === 'rejected') upload.idempotencyKey = generateIdempotencyKey()
  upload.abort = new AbortController()
  upload.progress.value = 0
  upload.state.value = { kind: 'waiting' }
  startWaitingUploads()
}

const generateIdempotencyKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

const isConnectionLost = (state: UploadState) => state.kind === 'failed' && state.error.code === 'OFFLINE'

// Retry interrupted uploads when the browser is online again.
addEventListener('online', () => {
  for (const upload of uploads.peek()) {
    upload.connectionLosses = 0
    if (isConnectionLost(upload.state.peek())) retryUpload(upload)
  }
})

function scheduleRetry(upload: Upload): void {
  const retryIfConnectionLost = () =>
    isOnline.peek() && isConnectionLost(upload.state.peek()) && uploads.peek().includes(upload) && retryUpload(upload)
  const delayMs = retryDelaysMs[upload.connectionLosses++]
  if (delayMs !== undefined) setTimeout(retryIfConnectionLost, delayMs)
}

/** Asks for confirmation if the user leaves the page during an upload. */
addEventListener('beforeunload', (event) => {
  if (uploads.peek().some(({ state }) => !isFinished(state.peek()))) event.preventDefault()
})

export const clearFinishedUploads = (): void => {
  uploads.value = uploads.peek().filter(({ state }) => !isFinished(state.peek()))
}

export const isFinished = ({ kind }: UploadState): boolean => kind === 'accepted' || kind === 'rejected' || kind === 'failed'

function startWaitingUploads(): void {
  // Start uploads in the order in which the user added them.
  const waiting = [...uploads.peek()].sort((a, b) => a.key - b.key).filter(({ state }) => state.peek().kind === 'waiting')
  for (const upload of waiting.slice(0, maxConcurrentUploads - activeUploads)) {
    activeUploads++
    void sendUpload(upload).finally(() => {
      activeUploads--
      startWaitingUploads()
    })
  }
}

async function sendUpload(upload: Upload): Promise<void> {
  const { file, context, progress, state, abort, idempotencyKey } = upload
  state.value = { kind: 'uploading' }
  const onProgress = (fraction: number) => {
    progress.value = fraction
    if (fraction === 1) state.value = { kind: 'validating' }
  }
  const send = file.size > minResumableBytes ? uploadResumable : sendFile<{ file_id: string }>
  const { body, error } = await send({ file, context, idempotencyKey, onProgress, signal: abort.signal })
  if (body) state.value = { kind: 'accepted', fileId: body.file_id }
  else state.value = { kind: isRejection(error) ? 'rejected' : 'failed', error }
  if (isConnectionLost(state.peek())) scheduleRetry(upload)
  // Reload the lists once after the last upload instead of after each upload.
  if (uploads.peek().every((each) => isFinished(each.state.peek()))) reloadData()
}

const rejectionCodes = [
  'INVALID_EXTENSION',
  'SIZE_EXCEEDED',
  'BLANK_FILE',
  'CORRUPT_FILE',
  'VIRUS_DETECTED',
  'SCAN_INCOMPLETE',
  'ENCRYPTED_FILE',
  'ACTIVE_CONTENT',
]

/** Checks whether the service rejected the file itself, so that a retry cannot succeed. */
const isRejection = ({ code }: ApiError) => rejectionCodes.includes(code)
