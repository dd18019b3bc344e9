// npm run bench -- [NAME] [--quick] [--rounds N] [--seconds N] [--connections N,N] [--against FOLDER]: compares calls per second
// of the service and of a minimal node:http server (support/bare-server.mjs). --against adds the build in another clone. Four
// tenants with three contexts each request random files and pages. NAME selects operations by part of their name. Rounds
// alternate between the servers. Results are median ratios. CPU values per call (service, main thread, PostgreSQL) hardly depend
// on other programs. Idle is the share of unused machine CPU time.
import { execFileSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { openDatabase } from '../../dist/platform/db/open-database.js'
import { getIdleCpu, getUsedCpu, subtractTimes } from './support/cpu.mjs'
import {
  createMultipartForm,
  getMedian,
  getStartFlags,
  measureRate,
  request,
  startProcess,
  startService,
} from './support/service.mjs'

const { values: options, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '1,8,32' },
    against: { type: 'string' },
  },
  allowPositionals: true,
})
const rounds = Number(options.rounds ?? (options.quick ? 2 : 5))
const seconds = Number(options.seconds ?? (options.quick ? 1 : 3))
const [tenantsPerSide, filesPerTenant, pages, pageSize] = [4, 1000, 50, 20]
const root = new URL('../..', import.meta.url).pathname

const pickRandom = (list) => list[randomInt(list.length)]
const readJson = async (response) => JSON.parse((await response).text())
async function expectStatus(status, response) {
  const got = await response
  if (got.status !== status) throw new Error(`Expected ${status}, got ${got.status}: ${got.text().slice(0, 300)}`)
  return got
}

// Every size has several contents so that consecutive requests send different bytes.

const createText = (size) => {
  const createLine = () => `${randomBytes(30).toString('base64')},${randomInt(1_000_000)}\n`
  const part = Array.from({ length: 64 }, createLine).join('')
  return Buffer.from(part.repeat(Math.ceil(size / part.length)).slice(0, size))
}
const getSideLength = (bytes) => Math.round(Math.sqrt(bytes / 3))
/** Noise does not compress, so the image file is as large as its pixels. */
const createPicture = (bytes) =>
  sharp(randomBytes(getSideLength(bytes) ** 2 * 3), {
    raw: { width: getSideLength(bytes), height: getSideLength(bytes), channels: 3 },
  })
    .png()
    .toBuffer()
const createSeveral = (count, make) => Promise.all(Array.from({ length: count }, make))
const contents = {
  'text 10 KiB': { name: 'notes.txt', files: await createSeveral(32, () => createText(10 * 1024)) },
  'PNG 10 KiB': { name: 'photo.png', files: await createSeveral(32, () => createPicture(10 * 1024)) },
  'text 1 MiB': { name: 'rows.txt', files: await createSeveral(8, () => createText(1024 * 1024)) },
  'binary 1 MiB': { name: 'data.bin', files: await createSeveral(8, () => randomBytes(1024 * 1024)) },
  'PNG 1 MiB': { name: 'scan.png', files: await createSeveral(8, () => createPicture(1024 * 1024)) },
  'text 100 MiB': { name: 'large.txt', files: await createSeveral(2, () => createText(100 * 1024 * 1024)) },
}

/** Starts the service from the clone at `folder` with tenants and contexts. */
async function openService(folder) {
  const service = await startService({}, getStartFlags(folder), join(folder, 'dist', 'main.js'))
  const tenants = []
  for (let index = 0; index < tenantsPerSide; index++) {
    const created = execFileSync(
      process.execPath,
      [join(folder, 'dist/cli/admin.js'), 'tenant', 'create', '--name', `Tenant ${index}`],
      {
        env: { ...process.env, DATA_DIR: service.dataDir },
      },
    )
    const tenant = {
      authorization: `Bearer ${JSON.parse(created).api_key}`,
      contexts: ['invoices', 'photos', 'unchecked'],
      files: [],
    }
    for (const context of tenant.contexts) await createContext(service, tenant, context)
    tenants.push(tenant)
  }
  const sendRequest = (agent, tenant, path, init = {}) =>
    request(agent, `${service.url}${path}`, { ...init, headers: { authorization: tenant.authorization, ...init.headers } })
  const upload = async (agent, kind, context) => {
    const tenant = pickRandom(tenants)
    const form = createMultipartForm(
      context ?? pickRandom(['invoices', 'photos']),
      contents[kind].name,
      pickRandom(contents[kind].files),
    )
    const response = await expectStatus(
      201,
      sendRequest(agent, tenant, '/api/v1/files/upload', { method: 'POST', headers: form.headers, body: form.body }),
    )
    return { tenant, file: JSON.parse(response.text()).data }
  }
  const read = (agent, path) => {
    const tenant = pickRandom(tenants)
    return expectStatus(200, sendRequest(agent, tenant, path(tenant)))
  }
  return {
    ...service,
    folder: join(service.dataDir, 'blobs'),
    upload,
    async fill(agent) {
      const { tenant, file } = await upload(agent, 'text 10 KiB')
      tenant.files.push(file.file_id)
    },
    metadata: (agent) => read(agent, ({ files }) => `/api/v1/files/${pickRandom(files)}/metadata`),
    url: (agent) => read(agent, ({ files }) => `/api/v1/files/${pickRandom(files)}`),
    list: (agent) => read(agent, () => `/api/v1/files?page=${randomInt(1, pages + 1)}&page_size=${pageSize}`),
    links(agent) {
      return createSeveral(64, async () => {
        const tenant = pickRandom(tenants)
        const { data } = await readJson(
          expectStatus(200, sendRequest(agent, tenant, `/api/v1/files/${pickRandom(tenant.files)}`)),
        )
        return new URL(data.download_url).href
      })
    },
    download: (agent, links) => expectStatus(200, request(agent, pickRandom(links))),
  }
}

async function createContext({ url }, { authorization }, context) {
  const body = {
    context_key: context,
    display_name: context,
    allowed_extensions: ['txt', 'bin', 'png'],
    max_file_size_mb: 200,
    storage_quota_mb: 100_000,
    ...(context === 'unchecked' && { scan_for_viruses: false, reject_corrupt_files: false, reject_blank_files: false }),
  }
  const init = {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: [Buffer.from(JSON.stringify(body))],
  }
  await expectStatus(201, request(undefined, `${url}/api/v1/contexts`, init))
}

async function openBare(databaseUrl) {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bare-'))
  const server = await startProcess(new URL('./support/bare-server.mjs', import.meta.url), [databaseUrl, folder])
  const files = []
  const upload = async (agent, kind) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: [pickRandom(contents[kind].files)],
    }
    return readJson(expectStatus(201, request(agent, server.url, init)))
  }
  const one = (agent) => expectStatus(200, request(agent, `${server.url}/one/${pickRandom(files)}`))
  return {
    ...server,
    folder,
    upload,
    fill: async (agent) => files.push((await upload(agent, 'text 10 KiB')).id),
    metadata: one,
    url: one,
    list: (agent) => expectStatus(200, request(agent, `${server.url}/list/${randomInt(pages)}`)),
    links: async () => files.map((id) => `${server.url}/download/${id}`),
    download: (agent, links) => expectStatus(200, request(agent, pickRandom(links))),
    stop: () => {
      server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const service = await openService(root)
const { url: databaseUrl } = await openDatabase({ dataDir: service.dataDir, databaseUrl: undefined, purpose: 'command' })
const sides = { assay: service, bare: await openBare(databaseUrl) }
if (options.against) sides.before = await openService(resolve(options.against))

process.stderr.write(`Preparing ${tenantsPerSide * filesPerTenant} files on each side…\n`)
const agent = new http.Agent({ keepAlive: true, maxSockets: 32 })
for (const each of Object.values(sides)) {
  let remaining = tenantsPerSide * filesPerTenant
  const fillSide = async () => {
    while (remaining-- > 0) await each.fill(agent)
  }
  await Promise.all(Array.from({ length: 32 }, fillSide))
}

// Operations by name. Each sends one call to a server.

const createUploadCall = (kind, context) => (side) => (with_) => side.upload(with_, kind, context)
const createMixedCall = (reads) => (side) => (with_) =>
  Math.random() < reads
    ? pickRandom([side.metadata, side.url, side.list])(with_)
    : side.upload(with_, pickRandom(['text 10 KiB', 'PNG 10 KiB']))
const operations = {
  'upload 10 KiB': createUploadCall('text 10 KiB'),
  'upload 10 KiB, checks off': createUploadCall('text 10 KiB', 'unchecked'),
  'upload 10 KiB, PNG': createUploadCall('PNG 10 KiB'),
  'upload 1 MiB': createUploadCall('text 1 MiB'),
  'upload 1 MiB, binary': createUploadCall('binary 1 MiB'),
  'upload 1 MiB, PNG': createUploadCall('PNG 1 MiB'),
  'upload 100 MiB': createUploadCall('text 100 MiB'),
  'file metadata': (side) => side.metadata,
  'download URL': (side) => side.url,
  [`list ${pageSize}, page 1 to ${pages}`]: (side) => side.list,
  'download 10 KiB': async (side) => {
    // Download URLs are created immediately before use because they expire after a few minutes.
    const links = await side.links(agent)
    return (with_) => side.download(with_, links)
  },
  'mixed, 70 % reads and 30 % uploads': createMixedCall(0.7),
}

/** Deletes stored blobs that no later operation reads, which may be several GB. */
function removeBlobsSince(time) {
  for (const { folder } of Object.values(sides))
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile() && statSync(path).ctimeMs > time) rmSync(path)
    }
}

async function measure(operation, connections) {
  const calls = {}
  for (const [name, side] of Object.entries(sides)) calls[name] = await operation(side)
  for (const call of Object.values(calls)) await measureRate(connections, 0.5, call)
  const measured = Object.fromEntries(Object.keys(sides).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const [name, call] of Object.entries(calls)) measured[name].push(await measureOnce(sides[name], call, connections))
  const getSpeeds = (name) => measured[name].map(({ speed }) => speed)
  const formatRatio = (other) => getMedian(getSpeeds('assay').map((speed, round) => speed / getSpeeds(other)[round])).toFixed(2)
  const idle = getMedian(measured.assay.map(({ idle }) => idle))
  const bare = `${getMedian(getSpeeds('assay')).toFixed(1)} | ${getMedian(getSpeeds('bare')).toFixed(1)} | ${formatRatio('bare')}`
  const before = options.against
    ? ` ${getMedian(getSpeeds('before')).toFixed(1)} | ${formatRatio('before')} | ${getCpuPerCall(measured.before)} |`
    : ''
  return `| ${bare} |${before} ${getCpuPerCall(measured.assay)} | ${(100 * idle).toFixed(0)} % |`
}

async function measureOnce(side, call, connections) {
  const [cpu, idle, start] = [getUsedCpu(side), getIdleCpu(), performance.now()]
  const speed = await measureRate(connections, seconds, call)
  const duration = performance.now() - start
  const used = subtractTimes(getUsedCpu(side), cpu)
  const count = speed * (duration / 1000)
  return { speed, count, used, idle: (getIdleCpu() - idle) / duration / cpus().length }
}

function getCpuPerCall(measured) {
  const count = measured.reduce((sum, each) => sum + each.count, 0)
  const [all, main, database] = ['all', 'main', 'database'].map((part) =>
    (measured.reduce((sum, { used }) => sum + used[part], 0) / count).toFixed(2),
  )
  return `${all} (${main}) + ${database}`
}

console.log(`Load of the machine: ${loadavg()[0].toFixed(1)}.\n`)
const [head, line] = options.against ? [' before /s | to before | CPU ms before |', '---|---|---|'] : ['', '']
console.log(`| operation | connections | Assay /s | bare /s | to bare |${head} CPU ms (main) | idle |`)
console.log(`|---|---|---|---|---|${line}---|---|`)
const prepared = Date.now()
for (const [name, operation] of Object.entries(operations)) {
  if (positionals[0] && !name.includes(positionals[0])) continue
  for (const connections of name.includes('100 MiB') ? [4] : options.connections.split(',').map(Number))
    console.log(`| ${name} | ${connections} ${await measure(operation, connections)}`)
  removeBlobsSince(prepared)
}
agent.destroy()
// The minimal server stops first because it uses the service's PostgreSQL.
for (const each of [sides.bare, sides.assay, sides.before]) await each?.stop()
