// npm run bench:profiles [-- NAME] [--seconds N] [--connections N]: profiles the main thread for each REST route under load.
// Prints the five functions with the most self time and the shares of garbage collection and system calls. Each route has a
// separate service because a profile ends with the process.
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readProfile } from './support/cpu-profile.mjs'
import { createMultipartForm, getStartFlags, measureRate, request, startService } from './support/service.mjs'

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '4' }, connections: { type: 'string', default: '8' } },
  allowPositionals: true,
})
const connections = Number(values.connections)
const root = new URL('../..', import.meta.url).pathname
const agent = new http.Agent({ keepAlive: true })
const line = 'A line of a text that is uploaded.\n'
const createContent = (size) => Buffer.from(line.repeat(Math.ceil(size / line.length)).slice(0, size))

/** Requests by name. Each receives a service and the ids of files of 10 KiB and 1 MiB. */
const routes = {
  'POST /files/upload, 10 KiB': ({ upload }) => upload(createContent(10 * 1024)),
  'POST /files/upload, 1 MiB': ({ upload }) => upload(createContent(1024 * 1024)),
  'GET /files/{file_id}': ({ get, small }) => get(`/api/v1/files/${small}`),
  'GET /files/{file_id}/metadata': ({ get, small }) => get(`/api/v1/files/${small}/metadata`),
  'GET /files/{file_id}/validation': ({ get, small }) => get(`/api/v1/files/${small}/validation`),
  'GET /files': ({ get }) => get('/api/v1/files'),
  'GET /contexts': ({ get }) => get('/api/v1/contexts'),
  'GET /stats': ({ get }) => get('/api/v1/stats'),
  'GET /stats/logs': ({ get }) => get('/api/v1/stats/logs'),
  'GET /audit-logs': ({ get }) => get('/api/v1/audit-logs'),
  'GET /stats/charts/api-calls, a year by hour': ({ get }) => get('/api/v1/stats/charts/api-calls?period=hourly&days=365'),
  'GET /download, 10 KiB': ({ get, urlOf, small }) => urlOf(small).then(get),
  'GET /download, 1 MiB': ({ get, urlOf, large }) => urlOf(large).then(get),
}

for (const [name, route] of Object.entries(routes)) if (name.includes(positionals[0] ?? '')) await profileRoute(name, route)
agent.destroy()

async function profileRoute(name, route) {
  const folder = mkdtempSync(join(tmpdir(), 'assay-profile-'))
  const options = [...getStartFlags(root), '--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=250']
  const service = await startService({ LOG_LEVEL: 'info' }, options)
  try {
    const call = await route(await createClient(service))
    await measureRate(connections, 1.5, call)
    const rate = await measureRate(connections, Number(values.seconds), call)
    const endedAt = performance.now()
    await service.stop()
    printProfile(name, rate, folder, performance.now() - endedAt)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function createClient({ url, key }) {
  const headers = { authorization: `Bearer ${key}` }
  const expectStatus = async (status, response) => {
    const got = await response
    if (got.status !== status) throw new Error(`${got.status}: ${got.text().slice(0, 300)}`)
    return got
  }
  const readData = async (response) => JSON.parse((await response).text()).data
  const get = (path) => (with_) => expectStatus(200, request(with_, url + path, { headers }))
  const rules = {
    context_key: 'bench',
    display_name: 'bench',
    allowed_extensions: ['txt'],
    max_file_size_mb: 100,
    storage_quota_mb: 100_000,
  }
  const json = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } }
  await expectStatus(201, request(agent, `${url}/api/v1/contexts`, { ...json, body: [Buffer.from(JSON.stringify(rules))] }))
  const upload = (file) => {
    const form = createMultipartForm('bench', 'file.txt', file)
    const post = { method: 'POST', headers: { ...headers, ...form.headers }, body: form.body }
    return (with_) => expectStatus(201, request(with_, `${url}/api/v1/files/upload`, post))
  }
  const getDownloadUrl = async (id) => {
    const { pathname, search } = new URL((await readData(get(`/api/v1/files/${id}`)(agent))).download_url)
    return pathname + search
  }
  const tiny = upload(createContent(10 * 1024))
  for (let files = 0; files < 40; files++) await tiny(agent)
  const small = (await readData(tiny(agent))).file_id
  const large = (await readData(upload(createContent(1024 * 1024))(agent))).file_id
  return { get, upload, urlOf: getDownloadUrl, small, large }
}

/** Prints the profile of the measured seconds, excluding the shutdown. */
function printProfile(name, rate, folder, endMs) {
  const own = new Map()
  let busy = 0
  for (const { ms, frames } of readProfile(folder, { seconds: Number(values.seconds), endMs })) {
    busy += ms
    const key = getName(frames[0])
    own.set(key, (own.get(key) ?? 0) + ms)
  }
  const largest = [...own].sort((a, b) => b[1] - a[1]).slice(0, 5)
  const lines = largest.map(([key, time]) => `${key} ${((100 * time) / busy).toFixed(1)} %`).join(', ')
  console.log(`| ${name} | ${rate.toFixed(0)} | ${lines} |  (load ${loadavg()[0].toFixed(1)})`)
}

function getName({ functionName, url }) {
  const of =
    /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/dist\/(.*)\.js$/.exec(url)?.[1] ?? /^node:(.*)$/.exec(url)?.[1]
  return of ? `\`${functionName || 'anonymous'}\` (${of.replace('internal/', '')})` : functionName.replace(/[()]/g, '')
}
