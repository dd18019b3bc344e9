import { AssayError } from './errors.js'
import type { components } from './generated/openapi.js'
import { appendQuery, isTemporary, type Transport, wait } from './transport.js'

type Event = components['schemas']['Event']

export interface EventsOptions {
  /** Sequence number after which the iteration starts. Default: 0, the beginning of the journal. */
  after?: number
  /** Event types to return, such as `file.rejected` or `file.*`. Default: all. */
  types?: readonly string[]
  /** If false, the iteration ends after the latest event. Default: true. */
  follow?: boolean
  signal?: AbortSignal
}

const path = '/api/v1/events'
const pageSize = 1000
/** The service sends a comment at least every 15 seconds, so a connection that is idle for this long is treated as lost. */
const idleTimeoutMs = 45_000
const reconnectDelayMs = 1_000
const maxReconnectDelayMs = 30_000

/**
 * Yields events in order and without duplicates, and reconnects if necessary. Throws the abort reason if the signal is aborted.
 */
export async function* followEvents(transport: Transport, options: EventsOptions): AsyncGenerator<Event> {
  const { follow = true, types, signal } = options
  const filter = { ...(types && { types: types.join(',') }) }
  let { after = 0 } = options
  if (!follow) {
    for (;;) {
      const request = {
        method: 'GET',
        path: appendQuery(path, { after, limit: pageSize, ...filter }),
        signal,
        isRepeatable: true,
      }
      const { data } = await transport.requestData<{ data: Event[] }>(request)
      yield* data
      if (data.length < pageSize) return
      after = data.at(-1)!.sequence
    }
  }
  for (let failures = 0, hasConnected = false; ; ) {
    const connection = new AbortController()
    const request = {
      method: 'GET',
      path: appendQuery(path, { after, ...filter }),
      headers: { Accept: 'text/event-stream' },
      signal: signal ? AbortSignal.any([signal, connection.signal]) : connection.signal,
      isRepeatable: true,
    }
    try {
      const response = await transport.send(request, (opened) => opened)
      hasConnected = true
      failures = 0
      for await (const event of readEvents(response, connection)) {
        yield event
        after = event.sequence
      }
    } catch (error) {
      signal?.throwIfAborted()
      // If the first connection fails, the URL or the credential is usually wrong, so the error is thrown. A later failure may
      // only mean that the service is restarting, so the client reconnects.
      if (error instanceof AssayError && !(hasConnected && (isTemporary(error) || error.status >= 500))) throw error
      failures++
    } finally {
      connection.abort()
    }
    await wait(Math.min(reconnectDelayMs * 2 ** failures, maxReconnectDelayMs), signal)
  }
}

async function* readEvents(response: Response, connectionAbort: AbortController): AsyncGenerator<Event> {
  let timer = setTimeout(() => connectionAbort.abort(), idleTimeoutMs)
  const decoder = new TextDecoder()
  let remainder = ''
  const reader = response.body!.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => connectionAbort.abort(), idleTimeoutMs)
      const blocks = (remainder + decoder.decode(value, { stream: true })).split('\n\n')
      remainder = blocks.pop()!
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data !== undefined) yield JSON.parse(data)
      }
    }
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
}
