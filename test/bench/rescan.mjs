// npm run bench:rescan: compares the MB/s of a rescan with clamd reading the same bytes from the same disk, two files at a time.
// Requires clamd.
import { spawn } from 'node:child_process'
import { createReadStream, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { queryClamd, sendToClamd } from '../../dist/inspection/scanners/clamd/commands.js'
import { parseClamdUrl } from '../../dist/inspection/scanners/clamd/exchange.js'
import { eicar } from '../../dist/inspection/scanners/eicar.js'
import { startService } from './support/service.mjs'

const rounds = 3
const sets = [
  { name: '10 KiB', bytes: 10 * 1024, count: 400 },
  { name: '1 MiB', bytes: 1024 * 1024, count: 100 },
  { name: '16 MiB', bytes: 16 * 1024 * 1024, count: 12 },
]
const deadlines = { connectMs: 5_000, idleMs: 60_000, answerMs: 60_000, overallMs: 120_000 }

const folder = mkdtempSync(join(tmpdir(), 'assay-rescan-bench-'))
const clamd = await startClamd()
const service = await startService({ SCANNER_URL: clamd.url, RESCAN_MB_PER_SECOND: '10000' })
try {
  console.log('| files | rescan, MB/s | clamd alone, MB/s | ratio |\n|---|---|---|---|')
  for (const set of sets) await measure(set)
} finally {
  await service.stop()
  clamd.child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function measure({ name, bytes, count }) {
  const key = `set_${bytes}`
  await sendRequest('POST', '/contexts', {
    context_key: key,
    display_name: name,
    allowed_extensions: ['txt'],
    max_file_size_mb: 64,
  })
  const paths = []
  for (let n = 0; n < count; n++) {
    const text = generateText(bytes, n)
    const path = join(folder, `${key}-${n}`)
    writeFileSync(path, text)
    paths.push(path)
    const form = new FormData()
    form.append('context', key)
    form.append('file', new Blob([text]), `${n}.txt`)
    const response = await fetch(`${service.url}/api/v1/files/upload`, { method: 'POST', headers: getCredential(), body: form })
    if (response.status !== 201) throw new Error(await response.text())
  }
  const megabytes = (bytes * count) / 1024 / 1024
  const again = []
  const plain = []
  for (let round = 0; round < rounds; round++) {
    again.push(megabytes / (await measureRescan(key)))
    plain.push(megabytes / (await measurePlainScan(paths)))
  }
  const [withScan, withoutScan] = [getMedian(again), getMedian(plain)]
  console.log(
    `| ${count} of ${name} | ${withScan.toFixed(1)} | ${withoutScan.toFixed(1)} | ${(withScan / withoutScan).toFixed(2)} |`,
  )
}

/** Returns the duration of the rescan in seconds, measured by the service. */
async function measureRescan(key) {
  await sendRequest('POST', `/contexts/${key}/rescan`)
  for (;;) {
    const { status, started_at, finished_at } = (await sendRequest('GET', `/contexts/${key}/rescan`)).data
    if (status === 'finished') return (Date.parse(finished_at) - Date.parse(started_at)) / 1000
    await sleep(20)
  }
}

async function measurePlainScan(paths) {
  const began = performance.now()
  const waiting = [...paths]
  const scanFiles = async () => {
    for (let path = waiting.shift(); path; path = waiting.shift()) {
      const response = await sendToClamd(
        clamd.address,
        { stream: () => createReadStream(path, { highWaterMark: 256 * 1024 }) },
        deadlines,
      )
      if (response !== 'stream: OK') throw new Error(response)
    }
  }
  await Promise.all([scanFiles(), scanFiles()])
  return (performance.now() - began) / 1000
}

/** Generates text from words, which clamd scans like ordinary text. */
function generateText(bytes, seed) {
  const line = `${seed} what stands in a file of this kind is read by people, and now and then by no one at all\n`
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes)
}

async function startClamd() {
  await mkdir(join(folder, 'db'))
  writeFileSync(join(folder, 'db', 'test.ndb'), `Test.EICAR:0:0:${eicar.toString('hex')}\n`)
  const socket = join(folder, 'clamd.sock')
  const settings = ['StreamMaxLength 200M', 'MaxFileSize 200M', 'MaxScanSize 400M', 'DisableCache yes']
  const conf = [`DatabaseDirectory ${join(folder, 'db')}`, `TemporaryDirectory ${folder}`, `LocalSocket ${socket}`, ...settings]
  writeFileSync(join(folder, 'clamd.conf'), `${conf.join('\n')}\n`)
  // Debian installs clamd outside the usual PATH.
  const program = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin'].map((place) => join(place, 'clamd')).find(existsSync)
  if (!program) throw new Error('clamd is not installed.')
  const child = spawn(program, ['--foreground', `--config-file=${join(folder, 'clamd.conf')}`], { stdio: 'ignore' })
  const url = `clamd://${socket}`
  const address = parseClamdUrl(url)
  for (let tries = 0; tries < 200; tries++) {
    if ((await queryClamd(address, 'PING', deadlines).catch(() => '')) === 'PONG') return { child, url, address }
    await sleep(50)
  }
  throw new Error('clamd did not start.')
}

function getCredential() {
  return { authorization: `Bearer ${service.key}` }
}

async function sendRequest(method, path, body) {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { ...getCredential(), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response.json()
}

function getMedian(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}
