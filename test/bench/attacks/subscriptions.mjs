// Opens anonymous WebSockets from one address: 70 that send pings without reading, then 520 idle ones. Another client subscribes
// repeatedly.
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import {
  getPercentile,
  measureDurations,
  sendRequest,
  startAttackedService,
  startAttacker,
} from '../../support/attacked-service.mjs'

export const name = 'Anonymous WebSockets: 70 with pings and 520 idle, from one address'

const attackMs = 15_000

export async function run() {
  const attacked = await startAttackedService()
  try {
    const figures = []
    const before = await measureDurations(() => receiveEvent(attacked.service.url, attacked.otherKey), {
      runs: 200,
      maxMs: 5_000,
    })
    const notes = [
      `Without an attack, a subscriber connects and receives an event in ${getPercentile(before, 0.99).toFixed(0)} ms (99th percentile)`,
    ]
    for (const [load, sockets] of Object.entries({
      '70 sockets with pings': { idle: 0, pinging: 70 },
      '520 idle sockets': { idle: 520, pinging: 0 },
    })) {
      const { lockedOut, subscribeMs, live, memoryMb, counts } = await measure(attacked, sockets)
      figures.push(
        { name: `${load}: subscribers without an event`, value: lockedOut, max: 0 },
        { name: `${load}: connect and receive an event, 99th percentile, ms`, value: subscribeMs, max: 500 },
        { name: `${load}: slowest /health/live, ms`, value: live, max: 500 },
        { name: `${load}: memory of the main process, MB`, value: memoryMb, max: 450 },
      )
      notes.push(`${load}: ${counts.upgraded} connections upgraded, ${counts.closed} closed`)
    }
    return { figures, notes }
  } finally {
    await attacked.stop()
  }
}

async function measure({ service, port, otherKey, memoryMb }, sockets) {
  // Triggers an event that each subscriber must receive immediately.
  await sendRequest(`${service.url}/api/v1/tenant`, otherKey, { method: 'PATCH', body: { name: 'Subscriber' } })
  const attacker = await startAttacker(new URL('../../support/socket-attacker.mjs', import.meta.url), { port, ...sockets })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  let memory = 0
  let lockedOut = 0
  const [subscribed, live] = await Promise.all([
    measureDurations(() => receiveEvent(service.url, otherKey).catch(() => lockedOut++), { runs: 500, maxMs: attackMs }),
    measureDurations(
      async () => {
        await fetch(`${service.url}/health/live`).then((response) => response.text())
        memory = Math.max(memory, memoryMb())
      },
      { runs: 10_000, maxMs: attackMs },
    ),
  ])
  const counts = await attacker.stop()
  return { lockedOut, subscribeMs: getPercentile(subscribed, 0.99), live: live.at(-1), memoryMb: memory, counts }
}

async function receiveEvent(url, key) {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: `Bearer ${key}` },
    retryAttempts: 0,
  })
  try {
    for await (const { data } of client.iterate({ query: 'subscription { events(after: 0) { sequence } }' }))
      if (data.events.sequence > 0) return
  } finally {
    await client.dispose()
  }
}
