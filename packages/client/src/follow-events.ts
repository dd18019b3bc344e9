import { AssayError } from './errors.js'
import type { components } from './generated/openapi.js'
import { type Transport, withQuery } from './transport.js'

type Event = components['schemas']['Event']

export interface EventsOptions {
  /** What follows this place in the journal; 0, unless given: from the first event on. */
  after?: number
  /** Only these types, such as `file.rejected`, or `file.*` for all of a kind. */
  types?: readonly string[]
  /** False: up to the last event there is, and no further. */
  follow?: boolean
  signal?: AbortSignal
}

const path = '/api/v1/events'
const pageOf = 1000
/** The service says something at least every 15 s. */
const silenceMs = 45_000
const againMs = 1_000

/** Events in order, each once, however often the connection is lost meanwhile. */
export async function* followEvents(transport: Transport, options: EventsOptions): AsyncGenerator<Event> {
  const { follow = true, types, signal } = options
  const filter = { ...(types && { types: types.join(',') }) }
  let { after = 0 } = options
  if (!follow) {
    for (;;) {
      const request = { method: 'GET', path: withQuery(path, { after, limit: pageOf, ...filter }), signal, repeatable: true }
      const { data } = await transport.data<{ data: Event[] }>(request)
      yield* data
      if (data.length < pageOf) return
      after = data.at(-1)!.sequence
    }
  }
  while (!signal?.aborted) {
    const lost = new AbortController()
    const both = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal
    const headers = { Accept: 'text/event-stream' }
    const response = await transport.send({
      method: 'GET',
      path: withQuery(path, { after, ...filter }),
      headers,
      signal: both,
      repeatable: true,
    })
    try {
      for await (const event of eventsIn(response, lost)) {
        yield event
        after = event.sequence
      }
    } catch (error) {
      // Its caller's fault, and not the connection's.
      if (error instanceof AssayError) throw error
    } finally {
      lost.abort()
    }
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }
}

async function* eventsIn(response: Response, lost: AbortController): AsyncGenerator<Event> {
  let timer = setTimeout(() => lost.abort(), silenceMs)
  const decoder = new TextDecoder()
  let rest = ''
  const reader = response.body!.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => lost.abort(), silenceMs)
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop()!
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
