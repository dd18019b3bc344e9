// npm run attack [-- --seed N] [SECTION …]: attacks a local service and measures the effect on other clients. Each section in
// attacks/ exports `name` and `run({ seed })`, which returns `{ figures, notes }`. Exits with status 1 if a figure exceeds its
// maximum. Requires an idle machine.
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({ options: { seed: { type: 'string', default: '1' } }, allowPositionals: true })
const seed = Number(values.seed)
const available = readdirSync(new URL('attacks', import.meta.url), 'utf8')
  .map((file) => file.replace(/\.mjs$/, ''))
  .sort()
const unknown = positionals.filter((section) => !available.includes(section))
if (unknown.length > 0) {
  console.error(`Unknown section: ${unknown.join(', ')}. Available: ${available.join(', ')}.`)
  process.exit(2)
}

let exceeded = false
for (const section of positionals.length > 0 ? positionals : available) {
  const { name, run } = await import(`./attacks/${section}.mjs`)
  console.log(`\n${section}: ${name} (seed ${seed})`)
  const { figures, notes = [] } = await run({ seed })
  for (const { name: figure, value, max } of figures) {
    console.log(`${figure.padEnd(60)} ${value.toFixed(0).padStart(8)}   (at most ${max})${value > max ? '   EXCEEDED' : ''}`)
    exceeded ||= value > max
  }
  for (const note of notes) console.log(note)
}
process.exitCode = exceeded ? 1 : 0
