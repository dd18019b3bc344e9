// Attacks a local service with stalled downloads, slow uploads, one-byte-chunk bodies and idle sockets, and measures a valid
// client from the same tenant.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMonitoredService } from './monitored-service.mjs'

/** Returns the results when the numbers of attackers in `notes` have received a response or been disconnected. */
export async function attack({ counts, seed, calls, notes = {}, port }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-attack-'))
  const key = `assay_${randomBytes(32).toString('base64url')}`
  port ??= await findFreePort()
  const service = await startMonitoredService({ DATA_DIR: dataDir, PORT: String(port), BOOTSTRAP_API_KEY: key })
  const attackers = fork(new URL('./attackers.mjs', import.meta.url))
  const waitForMessage = (name) =>
    new Promise((resolve) =>
      attackers.on('message', (message) => {
        if (name in message) resolve(message[name])
      }),
    )
  try {
    const client = createClient(service.url, key)
    const { attackKey, download } = await prepareAttack(client)
    const started = waitForMessage('started')
    attackers.send({ begin: { port, key: attackKey, download, seed, counts } })
    await started
    // Latency is measured without event loop monitoring, which would consume a third of the event loop's time.
    const observed = await measureValidClient(client, service.pid, calls)
    const { worstHold, worstTurn } = await service.watch(async () => {
      const watched = await measureValidClient(client, service.pid, Math.ceil(calls / 4))
      observed.rejected.push(...watched.rejected)
      observed.memoryMb = Math.max(observed.memoryMb, watched.memoryMb)
    })
    const statuses = waitForMessage('statuses')
    attackers.send({ end: { notes } })
    return { ...observed, worstHold, worstTurn, statuses: await statuses }
  } finally {
    attackers.kill()
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const createClient = (url, key) => async (method, path, body) => {
  const json = body !== undefined && !(body instanceof FormData)
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(json && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: json ? JSON.stringify(body) : body }),
  })
  return { status: response.status, body: await response.json() }
}

async function prepareAttack(client) {
  const context = { context_key: 'inbox', display_name: 'Inbox', allowed_extensions: ['bin', 'txt'], max_file_size_mb: 64 }
  await client('POST', '/api/v1/contexts', { ...context, scan_for_viruses: false })
  const created = await client('POST', '/api/v1/api-keys', {
    name: 'attacker',
    scopes: ['upload', 'download', 'metadata', 'admin'],
  })
  const { body } = await uploadFile(client, 'large.bin', randomBytes(16 * 1_048_576))
  const url = (await client('GET', `/api/v1/files/${body.data.file_id}`)).body.data.download_url
  return { attackKey: created.body.data.api_key, download: new URL(url).pathname + new URL(url).search }
}

function uploadFile(client, name, content) {
  const form = new FormData()
  form.append('context', 'inbox')
  form.append('file', new Blob([content]), name)
  return client('POST', '/api/v1/files/upload', form)
}

/** Runs consecutive calls, every tenth of which is an upload. Memory figures cover only the main process. */
async function measureValidClient(client, pid, calls) {
  const metadata = []
  const live = []
  const rejected = []
  let memoryMb = 0
  for (let call = 0; call < calls; call++) {
    metadata.push(await measureRequest(() => client('GET', '/api/v1/files?page_size=5'), 200, rejected))
    live.push(await measureRequest(() => client('GET', '/health/live'), 200, rejected))
    if (call % 10 === 0) await measureRequest(() => uploadFile(client, `${call}.txt`, `text ${call}`), 201, rejected)
    memoryMb = Math.max(memoryMb, getResidentMb(pid))
  }
  metadata.sort((a, b) => a - b)
  return { p99: metadata[Math.ceil(metadata.length * 0.99) - 1], live: Math.max(...live), rejected, memoryMb }
}

async function measureRequest(work, expected, rejected) {
  const start = performance.now()
  const { status, body } = await work()
  if (status !== expected) rejected.push(`${status} ${body.message ?? ''}`)
  return performance.now() - start
}

const getResidentMb = (pid) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

export function findFreePort() {
  const server = createServer()
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    }),
  )
}
