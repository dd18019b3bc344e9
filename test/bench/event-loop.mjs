// npm run bench:loop [-- GROUP…] [--culprits]: measures how long a callback or an event loop turn blocks the service, in
// milliseconds of main-thread CPU time (test/support/event-loop-monitor.mjs). Each scenario runs three times after a warm-up. The result
// is the median of the maxima. --culprits names functions that took 10 ms.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMonitoredService } from '../support/monitored-service.mjs'
import { loadFamilies } from './support/families.mjs'
import { LoopClient } from './support/loop-client.mjs'
import { createLargestGraphqlRequests } from './support/loop-graphql.mjs'
import { createLargestRestRequests } from './support/loop-rest.mjs'
import { createFirstRequests, createForms } from './support/loop-scenarios.mjs'
import { createConcurrentUploads, createUploads } from './support/loop-uploads.mjs'
import { findFreePort, getMedian } from './support/service.mjs'

const max = 10
const expected = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const culprits = process.argv.includes('--culprits')
const dataDir = mkdtempSync(join(tmpdir(), 'assay-loop-'))
const key = `assay_${randomBytes(32).toString('base64url')}`
const world = { email: 'admin@localhost', password: randomBytes(12).toString('hex') }
const service = await startMonitoredService({
  DATA_DIR: dataDir,
  PORT: String(await findFreePort()),
  BOOTSTRAP_API_KEY: key,
  BOOTSTRAP_ADMIN_PASSWORD: world.password,
  RATE_LIMIT_PER_MINUTE: '1000000',
})
const client = new LoopClient(service, key)
const over = []

try {
  console.log('                                                      callback    turn   (worst, ms of CPU)')
  // The first requests create data that later scenarios use.
  await measureGroup('first uses', createFirstRequests(client, world), 1)
  await client.post('/api/v1/contexts', { ...createFirstContext(), context_key: 'many' }, { expect: 201 })
  for (let at = 0; at < 120; at++) await client.upload('loop', `${at}.txt`, Buffer.from(`text ${at}`), { expect: 201 })
  const groups = {
    uploads: async () => createUploads(client, await loadFamilies()),
    together: () => createConcurrentUploads(client),
    forms: () => createForms(client),
    graphql: () => createLargestGraphqlRequests(client, world),
    rest: () => createLargestRestRequests(client),
  }
  for (const [name, scenarios] of Object.entries(groups))
    if (expected.length === 0 || expected.includes(name)) await measureGroup(name, await scenarios(), 3)
  console.log(over.length === 0 ? `\nNo callback took ${max} ms.` : `\nCallbacks of ${max} ms and more: ${over.join(', ')}.`)
} finally {
  client.close()
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

function createFirstContext() {
  return { display_name: 'Many', allowed_extensions: ['txt'], max_file_size_mb: 1 }
}

async function measureGroup(title, scenarios, times) {
  console.log(title)
  for (const [name, work] of scenarios) {
    const found = []
    let rejection
    const runScenario = () => work().catch((error) => (rejection = error.message))
    for (let time = 0; time < times; time++) found.push(await service.watch(runScenario, { profile: culprits }))
    if (rejection) console.log(`  ${name}: ${rejection}`)
    const hold = getMedian(found.map(({ worstHold }) => worstHold))
    const turn = getMedian(found.map(({ worstTurn }) => worstTurn))
    console.log(`  ${name.padEnd(50)} ${hold.toFixed(1).padStart(9)} ${turn.toFixed(1).padStart(7)}${hold >= max ? '  !' : ''}`)
    if (hold >= max) over.push(`${title} / ${name}`)
    if (culprits) for (const { slow } of found) for (const each of slow) if (each.ms >= max) printHold(each)
  }
}

function printHold({ ms, from, to, callback, collectedMs, functions, calls }) {
  const clock = `${(to - from).toFixed(1)} ms on the clock, ${collectedMs.toFixed(1)} of them collecting garbage`
  console.log(`      ${ms.toFixed(1)} ms in ${callback} (${clock})\n        self: ${functions.join('; ')}`)
  console.log(`        total: ${calls.join('; ')}`)
}
