/** A stream of server-sent events. */
export interface EventReader {
  events: { id: number; data: { sequence: number; type: string; data: Record<string, unknown> } }[]
  /** Resolves when `count` events have arrived. */
  until(count: number): Promise<void>
  /** Resolves when the stream has ended for any reason. */
  ended: Promise<void>
  leave(): void
}

export async function readEvents(url: string, credential: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const abort = new AbortController()
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${credential}`, accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  const events: EventReader['events'] = []
  const waiting = new Set<() => void>()
  const ended = (async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) {
        const found = /^id: (\d+)\ndata: (.*)$/.exec(block)
        if (found) events.push({ id: Number(found[1]), data: JSON.parse(found[2]!) })
      }
      for (const look of waiting) look()
    }
  })().catch(() => {})
  return {
    events,
    until: (count) =>
      new Promise((resolve, reject) => {
        const resolveIfComplete = () => events.length >= count && resolve()
        waiting.add(resolveIfComplete)
        resolveIfComplete()
        void ended.then(() => reject(new Error(`The stream ended after ${events.length} events.`)))
      }),
    ended,
    leave: () => abort.abort(),
  }
}
