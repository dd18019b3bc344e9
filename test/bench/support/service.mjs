// Starts the built service as a process with a temporary database and folder.
import { spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ownFolder = fileURLToPath(new URL('../../..', import.meta.url))
const ownBuild = join(ownFolder, 'dist', 'main.js')

/** Returns the Node.js options that `npm start` uses in a clone. */
export function getStartFlags(folder) {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return scripts.start.match(/(?<= )--\S+/g) ?? []
}

/** @returns {Promise<{ url: string, key: string, dataDir: string, pid: number, stop: () => Promise<void> }>} */
export async function startService(env = {}, nodeOptions = getStartFlags(ownFolder), main = ownBuild) {
  const dataDir = mkdtempSync(join(tmpdir(), 'assay-bench-'))
  const port = await findFreePort()
  const key = `assay_${randomBytes(32).toString('base64url')}`
  const child = spawn(process.execPath, [...nodeOptions, main], {
    // `npm start` sets the same values.
    env: {
      UV_THREADPOOL_SIZE: '12',
      MALLOC_ARENA_MAX: '1',
      ...process.env,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: String(port),
      BOOTSTRAP_API_KEY: key,
      SCANNER_URL: 'yara:',
      LOG_LEVEL: 'warn',
      RECONCILE_INTERVAL_HOURS: '0',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  process.once('exit', () => child.kill('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  for (let tries = 0; ; tries++) {
    if (child.exitCode !== null || tries > 600) throw new Error('The service did not start.')
    if (
      await fetch(`${url}/health/live`).then(
        (response) => response.ok,
        () => false,
      )
    )
      break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url,
    key,
    dataDir,
    pid: child.pid,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Starts a process that prints its port when it is ready. */
export async function startProcess(script, args) {
  const child = spawn(process.execPath, [fileURLToPath(script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill('SIGTERM'))
  const port = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(Number(String(data).trim())))
    child.once('exit', () => reject(new Error(`${script} exited before it was ready`)))
  })
  return { url: `http://127.0.0.1:${port}`, pid: child.pid, stop: () => child.kill('SIGTERM') }
}

/** Ports below the range of outgoing connections stay free during a restart. */
export async function findFreePort() {
  for (;;) {
    const port = randomInt(10_000, 32_768)
    const probe = createServer()
    const isFree = await new Promise((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
}

/** Sends one request with `body`, a list of Buffers, and returns status and body. */
export function request(agent, url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      url,
      {
        method,
        agent,
        headers: { ...headers, ...(body && { 'content-length': body.reduce((sum, chunk) => sum + chunk.length, 0) }) },
      },
      (response) => {
        const chunks = []
        let size = 0
        response.on('data', (chunk) => {
          size += chunk.length
          if (size < 1_000_000) chunks.push(chunk)
        })
        response.on('end', () => resolve({ status: response.statusCode, size, text: () => Buffer.concat(chunks).toString() }))
        response.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    for (const chunk of body ?? []) outgoing.write(chunk)
    outgoing.end()
  })
}

export function createMultipartForm(context, name, content) {
  const boundary = `----assay${randomBytes(8).toString('hex')}`
  const createPart = (head) => Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`)
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: [
      createPart('name="context"'),
      Buffer.from(`${context}\r\n`),
      createPart(`name="file"; filename="${name}"\r\nContent-Type: application/octet-stream`),
      content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ],
  }
}

/** Calls `one` repeatedly on several connections for some seconds and returns the calls per second. */
export async function measureRate(connections, seconds, one) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const until = performance.now() + seconds * 1000
  const start = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      do {
        await one(agent)
        count++
      } while (performance.now() < until)
    }),
  )
  const elapsed = (performance.now() - start) / 1000
  agent.destroy()
  return count / elapsed
}

export const getMedian = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
