// npm run bench:scale -- ROWS [SAMPLES [NEIGHBOURS [pages]]]: compares the latency of a tenant with ROWS calls and files of one
// year (default 1,000,000) and a tenant with 10,000. NEIGHBOURS adds tenants with as many rows to the larger database. `pages`
// measures only deep pages of lists. The tenants have separate services and databases on one PostgreSQL, and requests alternate
// between them. Results are medians.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { countCounterErrors } from '../../dist/features/maintenance/counter-drift.js'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { seedYear } from './support/seed.mjs'
import { request, startService } from './support/service.mjs'

const rows = Number(process.argv[2] ?? 1_000_000)
if (!Number.isInteger(rows) || rows < 10_000)
  throw new Error(`ROWS must be a whole number of at least 10000, not '${process.argv[2]}'.`)
const samples = Number(process.argv[3] ?? 41)
const neighbours = Number(process.argv[4] ?? 0)
const pagesOnly = process.argv[5] === 'pages'
const counters = 1.5
const elsewhere = 3
// Reading a numbered page scans an index from the nearer end, at most to the middle of the list.
const deepPageMs = 150

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-scale-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_wal_size: '4GB' } })
const opened = []
try {
  const small = await openService('small', 10_000)
  const large = await openService('large', rows)
  const missed = []
  console.log(
    `\n${'median of one request, ms'.padEnd(58)} ${'10,000'.padStart(9)} ${rows.toLocaleString('en').padStart(11)}    ratio  target`,
  )
  for (const { name, path, target } of pagesOnly ? [] : listRequests()) {
    const times = { small: [], large: [] }
    for (let sample = -3; sample < samples; sample++)
      for (const [size, place] of [
        ['small', small],
        ['large', large],
      ]) {
        const took = await sendRequest(place, path(place))
        if (sample >= 0) times[size].push(took)
      }
    const [before, after] = [getMedian(times.small), getMedian(times.large)]
    const ratio = after / before
    if (ratio > target) missed.push(name)
    console.log(
      `${name.padEnd(58)} ${before.toFixed(2).padStart(9)} ${after.toFixed(2).padStart(11)} ${ratio.toFixed(2).padStart(8)}  ${target}${ratio > target ? '  MISSED' : ''}`,
    )
  }
  missed.push(...(await compareDeepPages(large, 'files', { path: '/files', items: large.files, maxMs: deepPageMs })))
  missed.push(
    ...(await compareDeepPages(large, 'files of a context', {
      path: '/files?context=seeded_3',
      items: large.files / 8,
      maxMs: deepPageMs,
    })),
  )
  missed.push(
    ...(await compareDeepPages(large, 'files of an uploader', {
      path: `/files?uploaded_by=${large.ids.common}`,
      items: large.files / 18,
      maxMs: deepPageMs,
    })),
  )
  missed.push(...(await compareDeepPages(large, 'calls', { path: '/stats/logs', items: large.rows })))
  for (const place of [small, large])
    console.log(`counters_drift at ${place.rows.toLocaleString('en')}: ${await countDrift(place)}`)
  console.log(missed.length === 0 ? 'Every target met.' : `Missed: ${missed.join('; ')}`)
} finally {
  for (const service of opened) await service.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Compares pages in the middle, at the end and past the end of a list with the first page. `maxMs` sets an absolute target. */
async function compareDeepPages(place, what, { path, items, maxMs }) {
  const last = Math.ceil(items / 20) - 1
  const missed = []
  const pages = {
    'page 1': 1,
    'page 2': 2,
    'the middle page': Math.floor(last / 2),
    'the last page but one': last,
    'page 2,147,483,647': 2_147_483_647,
  }
  const times = Object.fromEntries(Object.keys(pages).map((name) => [name, []]))
  for (let sample = -3; sample < samples; sample++)
    for (const [name, page] of Object.entries(pages)) {
      const took = await sendRequest(place, `${path}${path.includes('?') ? '&' : '?'}page=${page}`)
      if (sample >= 0) times[name].push(took)
    }
  const first = getMedian(times['page 1'])
  console.log(
    `\n${what}, some ${items.toLocaleString('en')} in the list: median of one request, ms; beside page 1; target ${maxMs === undefined ? elsewhere : `${maxMs} ms`}`,
  )
  for (const name of Object.keys(pages)) {
    const ratio = getMedian(times[name]) / first
    const isMissed = maxMs === undefined ? ratio > elsewhere : getMedian(times[name]) > maxMs
    if (isMissed) missed.push(`${what}, ${name}`)
    console.log(
      `${name.padEnd(58)} ${getMedian(times[name]).toFixed(2).padStart(9)} ${ratio.toFixed(2).padStart(8)}${isMissed ? '  MISSED' : ''}`,
    )
  }
  return missed
}

function listRequests() {
  const list = []
  const addRequest = (name, path, target) => list.push({ name, path: typeof path === 'string' ? () => path : path, target })
  addRequest('/stats', '/stats', counters)
  for (const chart of ['api-calls', 'storage', 'uploads'])
    for (const period of chart === 'storage' ? ['daily', 'weekly'] : ['hourly', 'daily', 'weekly'])
      addRequest(`chart ${chart}, ${period}, 365 days`, `/stats/charts/${chart}?period=${period}&days=365`, counters)
  addRequest('by context: calls', '/stats/by-context/api-calls', counters)
  addRequest('by context: files', '/stats/by-context/files', counters)

  const toDate = (ago) => new Date(Date.now() - ago * 86_400_000).toISOString()
  const filters = {
    none: () => '',
    key: ({ ids }) => `api_key_id=${ids.common}`,
    'rare key': ({ ids }) => `api_key_id=${ids.rare}`,
    operation: () => 'operation=download',
    'rare operation': () => 'operation=delete',
    status: () => 'status=success',
    'rare status': () => 'status=failure',
    start: () => `start_date=${toDate(100)}`,
    end: () => `end_date=${toDate(100)}`,
    'start and end': () => `start_date=${toDate(200.3)}&end_date=${toDate(100.7)}`,
    'key, operation': ({ ids }) => `api_key_id=${ids.common}&operation=upload`,
    'key, status': ({ ids }) => `api_key_id=${ids.common}&status=failure`,
    'operation, status': () => 'operation=delete&status=failure',
    'key, operation, status': ({ ids }) => `api_key_id=${ids.common}&operation=delete&status=failure`,
    'rare key, operation, status': ({ ids }) => `api_key_id=${ids.rare}&operation=metadata&status=success`,
    'key, operation, status, start, end': ({ ids }) =>
      `api_key_id=${ids.common}&operation=delete&status=failure&start_date=${toDate(200.3)}&end_date=${toDate(100.7)}`,
    'no match: idle key': ({ ids }) => `api_key_id=${ids.idle}`,
    'no match: idle key, operation': ({ ids }) => `api_key_id=${ids.idle}&operation=upload`,
    'no match: idle key, status': ({ ids }) => `api_key_id=${ids.idle}&status=failure`,
    'no match: idle key, operation, status, dates': ({ ids }) =>
      `api_key_id=${ids.idle}&operation=upload&status=failure&start_date=${toDate(200.3)}&end_date=${toDate(100.7)}`,
    'no match: rare key in a day of the future': ({ ids }) => `api_key_id=${ids.rare}&start_date=2999-01-01`,
  }
  for (const [name, filter] of Object.entries(filters))
    addRequest(`logs, first page: ${name}`, (place) => `/stats/logs?${filter(place)}`, elsewhere)
  // A page past the end of a list contains the total but no items.
  for (const [name, filter] of Object.entries(filters))
    addRequest(`logs, total_items: ${name}`, (place) => `/stats/logs?page=2000000000&${filter(place)}`, counters)
  addRequest('logs, page 1,000', '/stats/logs?page=1000&page_size=10', elsewhere)
  addRequest('logs, page 800 of an operation', '/stats/logs?page=800&page_size=1&operation=upload', elsewhere)
  addRequest('logs, page 800 before an end', `/stats/logs?page=800&page_size=5&end_date=${toDate(100)}`, elsewhere)
  addRequest('files, first page', '/files', elsewhere)
  addRequest('files, first page of a context', '/files?context=seeded_3', elsewhere)
  addRequest('files, first page of an uploader', ({ ids }) => `/files?uploaded_by=${ids.common}`, elsewhere)
  addRequest('files, first page of both', ({ ids }) => `/files?context=seeded_2&uploaded_by=${ids.common}`, elsewhere)
  addRequest('files, no match', ({ ids }) => `/files?context=seeded_2&uploaded_by=${ids.idle}`, elsewhere)
  return list
}

async function openService(name, size) {
  const url = new URL(server.url)
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  url.pathname = `/${name}`
  const service = await startService({
    DATABASE_URL: url.href,
    MASTER_KEY: randomBytes(32).toString('base64'),
    STORAGE_URL: `file://${join(folder, name)}`,
  })
  opened.push(service)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const tenantId = (await client.query('SELECT tenant_id FROM tenants')).rows[0].tenant_id
  const ids = await seedYear(client, {
    tenantId,
    rows: size,
    files: size,
    neighbours: name === 'large' ? neighbours : 0,
    say: (what) => console.log(`${name}: ${what}`),
  })
  await client.end()
  return {
    ...service,
    rows: size,
    files: size,
    ids,
    databaseUrl: url.href,
    agent: new http.Agent({ keepAlive: true, maxSockets: 1 }),
  }
}

async function sendRequest({ url, key, agent }, path) {
  const start = performance.now()
  const response = await request(agent, `${url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
  const took = performance.now() - start
  if (response.status !== 200) throw new Error(`${path} returned ${response.status}: ${response.text()}`)
  return took
}

async function countDrift({ databaseUrl }) {
  const client = new pg.Client({
    connectionString: databaseUrl,
    types: { getTypeParser: (oid) => (oid === 20 ? Number : pg.types.getTypeParser(oid)) },
  })
  await client.connect()
  return countCounterErrors(client, { tenantId: null, callsSince: null }).finally(() => client.end())
}

function getMedian(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
