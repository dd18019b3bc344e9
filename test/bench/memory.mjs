// npm run bench:memory -- [--mb 100] [--uploads 8] [--extension bin]: measures the memory of all Node.js processes of the service
// during concurrent uploads of incompressible content with validation. With `--mb 1024`, the target is at most 260 MB.
// `--resumable` sends each upload in two requests of the tus protocol.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { getStartFlags } from './support/service.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values: options } = parseArgs({
  options: {
    mb: { type: 'string', default: '100' },
    uploads: { type: 'string', default: '8' },
    extension: { type: 'string', default: 'bin' },
    scanner: { type: 'string', default: 'yara:' },
    directory: { type: 'string', default: tmpdir() },
    resumable: { type: 'boolean', default: false },
    // Node.js options for the service process.
    node: { type: 'string', default: getStartFlags(root).join(' ') },
    env: { type: 'string', multiple: true, default: [] },
  },
})
const megabyte = 1_048_576
const target = 260
const mb = Number(options.mb)
const uploads = Number(options.uploads)
const main = join(root, 'dist', 'main.js')

const pool = randomBytes(megabyte)
let turn = 0

const directory = await mkdtemp(join(options.directory, 'assay-memory-'))
const port = await findFreePort()
const key = `assay_${randomBytes(32).toString('base64url')}`
const service = spawn(process.execPath, [...options.node.split(' ').filter(Boolean), main], {
  env: {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    // `npm start` sets the same value.
    UV_THREADPOOL_SIZE: '12',
    MALLOC_ARENA_MAX: '1',
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: join(directory, 'data'),
    BOOTSTRAP_API_KEY: key,
    SCANNER_URL: options.scanner,
    LOG_LEVEL: 'error',
    ...Object.fromEntries(options.env.map((pair) => pair.split('='))),
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
let peak = 0
const watching = setInterval(() => {
  peak = Math.max(peak, getResidentMb(service.pid))
}, 50)
try {
  await waitForOutput(service, 'curl')
  console.log(`started:               ${getResidentMb(service.pid).toFixed(0).padStart(5)} MB`)
  const limits = { max_file_size_mb: Math.min(1024, mb), storage_quota_mb: mb * uploads * 2 }
  const { status, body } = await sendRequest('POST', '/contexts', {
    context_key: 'memory',
    display_name: 'Memory',
    allowed_extensions: [options.extension],
    ...limits,
  })
  if (status !== 201) throw new Error(body)
  const send = options.resumable ? uploadResumably : uploadFile
  await send(1)
  console.log(`after 1 MB upload:     ${getResidentMb(service.pid).toFixed(0).padStart(5)} MB`)
  peak = 0
  const began = performance.now()
  const statuses = await Promise.all(Array.from({ length: uploads }, () => send(mb)))
  const seconds = (performance.now() - began) / 1000
  console.log(
    `${uploads} uploads of ${mb} MB at once: ${statuses.map(({ status }) => status).join(' ')}, ${seconds.toFixed(1)} s`,
  )
  for (const { status, body } of statuses) if (status !== 201) console.log(body)
  console.log(`peak:                  ${peak.toFixed(0).padStart(5)} MB (target: under ${target})`)
  await sleep(2000)
  console.log(`two seconds later:     ${getResidentMb(service.pid).toFixed(0).padStart(5)} MB`)
  process.exitCode = peak < target && statuses.every(({ status }) => status === 201) ? 0 : 1
} finally {
  clearInterval(watching)
  service.kill('SIGTERM')
  await new Promise((resolve) => service.once('exit', resolve))
  await rm(directory, { recursive: true, force: true })
}

/** Generates chunks that do not repeat within the window of any compressor. */
function uploadFile(size) {
  const boundary = 'memory-bench'
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="context"\r\n\r\nmemory\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.${options.extension}"\r\n\r\n`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return sendRequest('POST', '/files/upload', undefined, {
    'Content-Type': `multipart/form-data; boundary=${boundary}`,
    'Content-Length': head.length + size * megabyte + tail.length,
    write: async (request) => {
      request.write(head)
      await writeChunks(request, size)
      request.end(tail)
    },
  })
}

/** Uploads a file in two tus requests. */
async function uploadResumably(size) {
  const metadata = `filename ${btoa(`a.${options.extension}`)},context ${btoa('memory')}`
  const protocol = { 'Tus-Resumable': '1.0.0' }
  const created = await sendRequest('POST', '/uploads', undefined, {
    ...protocol,
    'Upload-Length': size * megabyte,
    'Upload-Metadata': metadata,
  })
  if (created.status !== 201) return created
  const middle = Math.floor(size / 2)
  let last = created
  for (const [from, to] of [
    [0, middle],
    [middle, size],
  ]) {
    last = await sendRequest('PATCH', created.headers.location.replace('/api/v1', ''), undefined, {
      ...protocol,
      'Content-Type': 'application/offset+octet-stream',
      'Content-Length': (to - from) * megabyte,
      'Upload-Offset': from * megabyte,
      write: (request) => writeChunks(request, to - from).then(() => request.end()),
    })
    if (last.status !== 204) return last
  }
  return { ...last, status: last.headers['assay-file-id'] ? 201 : last.status }
}

async function writeChunks(request, count) {
  const closed = once(request, 'close')
  for (let sent = 0; sent < count; sent++) {
    if (request.destroyed) return
    if (!request.write(createChunk())) await Promise.race([once(request, 'drain'), closed])
  }
}

function createChunk() {
  turn++
  if (options.extension === 'bin') {
    pool.writeUInt32LE(turn, (turn * 64) % (megabyte - 8))
    return Buffer.from(pool)
  }
  return Buffer.from(randomBytes((megabyte / 4) * 3).toString('base64'))
}

function sendRequest(method, path, json, { write, ...headers } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port,
        method,
        path: `/api/v1${path}`,
        agent: false,
        headers: { Authorization: `Bearer ${key}`, ...(json && { 'Content-Type': 'application/json' }), ...headers },
      },
      async (response) =>
        resolve({ status: response.statusCode, headers: response.headers, body: (await response.toArray()).join('') }),
    )
    request.once('error', reject)
    if (write) write(request).catch(reject)
    else request.end(json && JSON.stringify(json))
  })
}

/** Returns the memory of a process and all of its Node.js child processes. */
function getResidentMb(pid) {
  const below = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readIfExists(`/proc/${name}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    below.set(parent, [...(below.get(parent) ?? []), Number(name)])
  }
  const sum = (each) =>
    (/node/.test(readIfExists(`/proc/${each}/comm`))
      ? Number(/VmRSS:\s+(\d+)/.exec(readIfExists(`/proc/${each}/status`))?.[1] ?? 0)
      : 0) + (below.get(each) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(pid) / 1024
}

function readIfExists(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

async function waitForOutput(child, words) {
  let output = ''
  child.stdout.setEncoding('utf8')
  const ended = new Promise((_, reject) => child.once('exit', () => reject(new Error(`The service ended: ${output}`))))
  ended.catch(() => {})
  await Promise.race([
    ended,
    new Promise((resolve) =>
      child.stdout.on('data', (text) => {
        output += text
        if (output.includes(words)) resolve()
      }),
    ),
  ])
}

async function findFreePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: free } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return free
}
