// Opens 400 stalled downloads, 128 slow uploads, 20 one-byte-chunk bodies and 1,000 idle sockets concurrently.
import { attack } from '../../support/attack.mjs'

export const name = 'Stalled downloads, dripping uploads, one-byte chunks and idle sockets'

export async function run({ seed }) {
  const counts = { stalled: 400, drips: 128, chunks: 20, idle: 1_000 }
  const { memoryMb, p99, live, worstHold, rejected, statuses } = await attack({ counts, seed, calls: 300 })
  return {
    figures: [
      { name: 'memory of the main process, MB', value: memoryMb, max: 600 },
      { name: 'metadata call, 99th percentile, ms', value: p99, max: 250 },
      { name: 'slowest /health/live, ms', value: live, max: 1_000 },
      { name: 'longest block of the event loop, ms of CPU', value: worstHold, max: 100 },
      { name: 'rejected calls of other clients', value: rejected.length, max: 0 },
    ],
    notes: [`Responses to the attackers: ${JSON.stringify(statuses)}`, ...new Set(rejected)],
  }
}
