import { texts } from '../texts.js'
import { sign } from './client.js'
import { type ErrorBody, type Fault, faultOf, faultOfBody } from './fault.js'

export interface Sending {
  file: File
  context: string
  /** The same upload twice under one is one file; a dry run, which keeps nothing, has none. */
  idempotencyKey?: string
  /** 0 to 1, of the bytes. */
  onProgress: (share: number) => void
  signal: AbortSignal
}

export type Sent<Body> = { body: Body; fault?: undefined } | { body?: undefined; fault: Fault }

/** Sends a file as a form does. `fetch` tells nothing of what it has sent so far. */
export function sendFile<Body>({ file, context, idempotencyKey, onProgress, signal }: Sending): Promise<Sent<Body>> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    const form = new FormData()
    form.append('context', context)
    form.append('file', file)
    request.open('POST', idempotencyKey ? '/api/v1/files/upload' : '/api/v1/files/validate')
    for (const [name, value] of Object.entries(sign)) request.setRequestHeader(name, value)
    if (idempotencyKey) request.setRequestHeader('Idempotency-Key', idempotencyKey)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0)
    request.onload = () => {
      const body = request.response as ({ data?: Body } & ErrorBody) | null
      if (request.status < 300 && body?.data) resolve({ body: body.data })
      else resolve({ fault: body ? faultOfBody(body) : faultOf(undefined) })
    }
    request.onerror = () => resolve({ fault: faultOf(undefined) })
    request.onabort = () => resolve({ fault: stopped })
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}

/** By the viewer. */
export const stopped: Fault = { code: 'STOPPED', message: texts.files.stopped, details: {} }
