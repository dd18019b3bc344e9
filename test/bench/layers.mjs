// npm run bench:layers -- [--seconds N] [--connections N] [--against FOLDER]: measures CPU time per upload by layer. Each
// profiler sample of the main thread belongs to the layer of the nearest source file. Sample shares times the CPU time of the
// thread give milliseconds that hardly depend on other programs. --against adds the build in another clone.
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { getIdleCpu, getUsedCpu, subtractTimes } from './support/cpu.mjs'
import { readProfile } from './support/cpu-profile.mjs'
import { createMultipartForm, getStartFlags, measureRate, request, startService } from './support/service.mjs'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '8' },
    against: { type: 'string' },
  },
})
const connections = Number(values.connections)
const seconds = Number(values.seconds)
const root = new URL('../..', import.meta.url).pathname
const warmUpCalls = 2000
const small = 10 * 1024

/** Layers by the path below dist/ or the package of a stack frame. The first match applies. */
const layers = [
  ['response', /^dist\/api\/(rest\/envelope|bodies\/long-lists)/],
  ['body', /^dist\/(api\/bodies|api\/rest\/upload-form|platform\/spool)\/?|^(busboy|streamsearch)$/],
  ['HTTP', /^dist\/api\/|^node:(_http|net|internal\/stream_base)|^(express|router|type-graphql|graphql)$/],
  ['admission', /^dist\/access\//],
  ['inspection', /^dist\/inspection\/|^formats\/|^piscina$/],
  ['storage', /^dist\/platform\/storage\//],
  ['ledger and database', /^dist\/(ledger|platform\/db)\/|^(pg|pg-pool|pg-protocol)$/],
  ['use case', /^dist\/features\//],
]
const names = [...layers.map(([name]) => name), 'garbage collection', 'Node.js, V8 and the rest']

function getSourcePath({ url }) {
  return (
    /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
    /\/packages\/(formats\/.*)$/.exec(url)?.[1] ??
    /\/(dist\/.*)\.js$/.exec(url)?.[1] ??
    url
  )
}

function getLayer(frames) {
  if (frames[0].functionName === '(garbage collector)') return 'garbage collection'
  const places = frames.map(getSourcePath)
  const place =
    places.find((each) => /^(dist|formats)\//.test(each)) ?? places.find((each) => layers.some(([, of]) => of.test(each)))
  return layers.find(([, of]) => place && of.test(place))?.[0] ?? names.at(-1)
}

const line = 'A line of a text that is uploaded.\n'
const createContent = (size) => Buffer.from(line.repeat(Math.ceil(size / line.length)).slice(0, size))

/** Measures uploads to the service in `folder` and returns milliseconds per upload by layer. */
async function measure(folder, size) {
  const profile = mkdtempSync(join(tmpdir(), 'assay-layers-'))
  const options = [...getStartFlags(folder), '--cpu-prof', `--cpu-prof-dir=${profile}`, '--cpu-prof-interval=500']
  const service = await startService({}, options, join(folder, 'dist', 'main.modules.js'))
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  try {
    const callOf = await prepareUploads(service, agent)
    const [warmUp, call] = [callOf(small), callOf(size)]
    for (let left = warmUpCalls; left > 0; left -= connections)
      await Promise.all(Array.from({ length: connections }, () => warmUp(agent)))
    const [cpu, idle, start] = [getUsedCpu(service), getIdleCpu(), performance.now()]
    const rate = await measureRate(connections, seconds, call)
    const duration = performance.now() - start
    const used = subtractTimes(getUsedCpu(service), cpu)
    const idleShare = (getIdleCpu() - idle) / duration / cpus().length
    const endedAt = performance.now()
    await service.stop()
    const count = (rate * duration) / 1000
    const shares = computeShares(readProfile(profile, { seconds: duration / 1000, endMs: performance.now() - endedAt }))
    const main = Object.fromEntries(names.map((name) => [name, ((shares.get(name) ?? 0) * used.main) / count]))
    const others = { 'other threads': (used.all - used.main) / count, PostgreSQL: used.database / count }
    return { ...main, ...others, total: (used.all + used.database) / count, idleShare }
  } finally {
    agent.destroy()
    rmSync(profile, { recursive: true, force: true })
  }
}

function computeShares(samples) {
  const shares = new Map()
  let all = 0
  for (const { ms, frames } of samples) {
    const layer = getLayer(frames)
    shares.set(layer, (shares.get(layer) ?? 0) + ms)
    all += ms
  }
  return new Map([...shares].map(([layer, ms]) => [layer, ms / all]))
}

/** Creates a context and returns a function that builds uploads of a given size. */
async function prepareUploads({ url, key }, agent) {
  const headers = { authorization: `Bearer ${key}` }
  const sendUpload = async (with_, path, init) => {
    const response = await request(with_, `${url}/api/v1${path}`, init)
    if (response.status !== 201) throw new Error(`${response.status}: ${response.text().slice(0, 300)}`)
  }
  const rules = {
    context_key: 'bench',
    display_name: 'Bench',
    allowed_extensions: ['txt'],
    max_file_size_mb: 100,
    storage_quota_mb: 100_000,
  }
  const json = { ...headers, 'content-type': 'application/json' }
  await sendUpload(agent, '/contexts', { method: 'POST', headers: json, body: [Buffer.from(JSON.stringify(rules))] })
  return (size) => {
    const form = createMultipartForm('bench', 'file.txt', createContent(size))
    return (with_) =>
      sendUpload(with_, '/files/upload', { method: 'POST', headers: { ...headers, ...form.headers }, body: form.body })
  }
}

for (const [name, size] of Object.entries({ '10 KiB': small, '1 MiB': 1024 * 1024 })) {
  const after = await measure(root, size)
  const before = values.against && (await measure(resolve(values.against), size))
  console.log(
    `\nUpload of ${name} over ${connections} connections, ms of CPU. Load of the machine: ${loadavg()[0].toFixed(1)}.\n`,
  )
  console.log(before ? '| layer | before | now |\n|---|---|---|' : '| layer | now |\n|---|---|')
  const printRow = (label, format) => console.log(`| ${label} |${before ? ` ${format(before)} |` : ''} ${format(after)} |`)
  for (const layer of [...names, 'other threads', 'PostgreSQL', 'total']) printRow(layer, (side) => side[layer].toFixed(2))
  printRow('idle', (side) => `${(100 * side.idleShare).toFixed(0)} %`)
}
