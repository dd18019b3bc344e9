// npm run attack [-- SEED]: 400 stalled downloads, 128 dripping uploads, 20 one-byte-chunk bodies and 1,000 idle sockets at once, on a
// service of its own on loopback. Exit status 1 where a ceiling is passed: memory of the main process 600 MB, a good client's metadata
// calls 250 ms at the 99th percentile, /health/live 1 s, one hold of the event loop 100 ms of CPU. Wants an idle machine.
import { attack } from '../support/attack.mjs'

const seed = Number(process.argv[2] ?? 1)
const counts = { stalled: 400, drips: 128, chunks: 20, idle: 1_000 }
console.log(
  `Seed ${seed}: ${Object.entries(counts)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')}.`,
)
const { memoryMb, p99, live, worstHold, refused, statuses } = await attack({ counts, seed, calls: 300 })
const figures = [
  ['memory of the main process, MB', memoryMb, 600],
  ['metadata call, 99th percentile, ms', p99, 250],
  ['slowest /health/live, ms', live, 1_000],
  ['event loop held at once, ms of CPU', worstHold, 100],
  ['good calls refused', refused.length, 0],
]
for (const [name, value, most] of figures) console.log(`${name.padEnd(40)} ${value.toFixed(0).padStart(6)}   (at most ${most})`)
console.log('What became of the attackers:', JSON.stringify(statuses))
for (const why of new Set(refused)) console.log(`A good call was refused: ${why}`)
process.exitCode = figures.some(([, value, most]) => value > most) ? 1 : 0
