// Sends small PATCH requests, parallel uploads beyond a quota, and HEAD requests during a scanner outage.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../../support/attack.mjs'
import { startMonitoredService } from '../../support/monitored-service.mjs'

export const name = 'Small PATCHes, parallel uploads beyond a quota, HEAD requests without a scanner'

const megabyte = 1_048_576

export async function run({ seed }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-attack-'))
  const key = `assay_${randomBytes(32).toString('base64url')}`
  const port = await findFreePort()
  // No process listens on port 1.
  const env = { DATA_DIR: dataDir, PORT: String(port), BOOTSTRAP_API_KEY: key, SCANNER_URL: 'clamd://127.0.0.1:1' }
  const service = await startMonitoredService(env)
  try {
    const send = createSender(service.url, key)
    await createContext(send, { context_key: 'unscanned', scan_for_viruses: false })
    await createContext(send, { context_key: 'scanned' })
    const target = { send, pid: service.pid, blobs: join(dataDir, 'blobs') }
    const single = await measureSmallPatches(target, { count: 500, size: 1 })
    const afterLarge = await measureSmallPatches(target, { count: 500, size: 1, first: megabyte - 8_192 })
    const pages = await measureSmallPatches(target, { count: 500, size: 4_096 })
    const mixed = await measureSmallPatches(target, { count: 500, size: 2_048 + (seed % 2_048) })
    const heads = await measureHeadsWithoutScanner(target)
    const quota = await uploadBeyondQuota(target)
    return {
      figures: [
        { name: 'bytes of blobs written for 500 PATCHes of 1 byte', value: single.stored, max: 3 * megabyte },
        { name: 'the same after a part of almost 1 MB', value: afterLarge.stored, max: 3 * megabyte },
        { name: 'bytes written to files and sockets per PATCH of 1 byte', value: single.written / single.count, max: 100_000 },
        { name: 'bytes of blobs written per payload byte, 4 KB each', value: pages.stored / pages.payload, max: 4 },
        { name: 'the same for another size', value: mixed.stored / mixed.payload, max: 5 },
        { name: 'bytes read and written per HEAD without a scanner', value: heads, max: 100_000 },
        { name: 'bytes stored beyond the quota by 64 parallel uploads', value: quota.beyond, max: 0 },
      ],
      notes: [`Responses to the parallel uploads: ${JSON.stringify(quota.statuses)}`],
    }
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const createSender = (url, key) => (method, path, headers, body) =>
  fetch(path.startsWith('http') ? path : url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'tus-resumable': '1.0.0', ...headers },
    ...(body !== undefined && { body }),
  })

async function createContext(send, context) {
  const rules = { display_name: 'Attacked', allowed_extensions: ['txt'], max_file_size_mb: 64, ...context }
  await expectStatus(201, await send('POST', '/api/v1/contexts', { 'content-type': 'application/json' }, JSON.stringify(rules)))
}

async function expectStatus(status, response) {
  if (response.status !== status) throw new Error(`${response.status} ${await response.text()}`)
  return response
}

async function startUpload(send, context, size) {
  const metadata = `filename ${btoa('a.txt')},context ${btoa(context)}`
  const headers = { 'upload-length': String(size), 'upload-metadata': metadata }
  return (await expectStatus(201, await send('POST', '/api/v1/uploads', headers))).headers.get('location')
}

const sendPatch = (send, path, offset, body) =>
  send('PATCH', path, { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' }, body)

/** Blobs of replaced parts count until the sweep removes them. */
async function measureSmallPatches({ send, pid, blobs }, { count, size, first = 0 }) {
  const path = await startUpload(send, 'unscanned', first + count * size + 1)
  if (first > 0) await expectStatus(204, await sendPatch(send, path, 0, Buffer.alloc(first, 'x')))
  const [before, io] = [measureDirectory(blobs), countIoBytes(pid)]
  let [stored, last] = [0, before]
  for (let n = 0; n < count; n++) {
    await expectStatus(204, await sendPatch(send, path, first + n * size, Buffer.alloc(size, 'x')))
    const now = measureDirectory(blobs)
    // Counts only growth in the store, so bytes removed by a sweep are not subtracted.
    stored += Math.max(0, now - last)
    last = now
  }
  const { written } = countIoBytes(pid)
  await send('DELETE', path, {})
  return { count, payload: count * size, stored, written: written - io.written }
}

async function measureHeadsWithoutScanner({ send, pid }) {
  const size = 8 * megabyte
  const path = await startUpload(send, 'scanned', size)
  await expectStatus(503, await sendPatch(send, path, 0, Buffer.alloc(size, 'one line of plain text\n')))
  const before = countIoBytes(pid)
  const count = 50
  for (let n = 0; n < count; n++) await expectStatus(423, await send('HEAD', path, {}))
  const after = countIoBytes(pid)
  await send('DELETE', path, {})
  return (after.written + after.read - before.written - before.read) / count
}

async function uploadBeyondQuota({ send, blobs }) {
  const quotaMb = 50
  const json = { 'content-type': 'application/json' }
  await expectStatus(200, await send('PATCH', '/api/v1/tenant', json, JSON.stringify({ storage_quota_mb: quotaMb })))
  const before = measureDirectory(blobs)
  const paths = await Promise.all(Array.from({ length: 64 }, () => startUpload(send, 'unscanned', 32 * megabyte)))
  const statuses = {}
  const body = Buffer.alloc(4 * megabyte, 'x')
  for (let round = 0; round < 3; round++)
    await Promise.all(
      paths.map(async (path) => {
        const offset = Number((await send('HEAD', path, {})).headers.get('upload-offset'))
        const { status } = await sendPatch(send, path, offset, body)
        statuses[status] = (statuses[status] ?? 0) + 1
      }),
    )
  return { beyond: Math.max(0, measureDirectory(blobs) - before - quotaMb * megabyte), statuses }
}

/** Returns the size of all files in a directory, in blocks of 4 KB. */
function measureDirectory(directory) {
  let bytes = 0
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const { size } = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }) ?? { size: 0 }
    bytes += Math.max(size, 4_096)
  }
  return bytes
}

/** Counts bytes passed to system calls. `write_bytes` would count up to 2 MB of page cache per WAL page. */
function countIoBytes(root) {
  const total = { written: 0, read: 0 }
  for (const pid of listProcessesBelow(root)) {
    const io = Object.fromEntries(
      readProc(pid, 'io')
        .split('\n')
        .map((line) => line.split(': ')),
    )
    total.written += Number(io.wchar ?? 0)
    total.read += Number(io.rchar ?? 0)
  }
  return total
}

function listProcessesBelow(root) {
  const parents = new Map()
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)))
    parents.set(Number(pid), Number(/\) \S (\d+)/.exec(readProc(pid, 'stat'))?.[1]))
  const isUnder = (pid) => pid === root || (pid > 1 && isUnder(parents.get(pid) ?? 0))
  return [...parents.keys()].filter(isUnder)
}

function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
