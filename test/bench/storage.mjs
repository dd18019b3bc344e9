// npm run bench:storage: local upload and download of 100 MiB, against a bare node:http server that hashes and writes the same
// bytes, and against nginx serving the same file where nginx is installed. Interleaved in one run, medians, printed as ratios.
// Measured here is the way of the bytes (spool, store, signed URL); what validation costs is not part of it.
import { execFile, execFileSync, fork, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import express from 'express'
import { newId } from '../../dist/ids.js'
import { Spool } from '../../dist/spool.js'
import { openStorage } from '../../dist/storage/index.js'
import { serveBlob } from '../../dist/storage/serve-blob.js'

const size = 100 * 1024 * 1024
const rounds = Number(process.argv[2] ?? 7)
const role = process.env.BENCH_ROLE
const directory = process.env.BENCH_DIRECTORY

if (role === 'assay') await serveAssay()
else if (role === 'bare') await serveBare()
else await compare()

/** What an upload goes through but for its validation: spool and hash, then the store. */
async function serveAssay() {
  const key = { id: 'sig_bench', secret: randomBytes(32) }
  const signingSecrets = { current: async () => key, find: async () => key }
  const spool = await Spool.open({ directory: join(directory, 'spool') })
  const storage = await openStorage(`file://${directory}/store`, { publicUrl: 'http://127.0.0.1', signingSecrets })
  const files = new Map()
  const app = express()
  app.put(/.*/, async (request, response) => {
    const spooled = await spool.take(request, () => 1024 * 1024 * 1024)
    const id = newId('file')
    const path = `ten_bench/bench/2026/11/${id}`
    await storage.put(path, spooled.content, { contentType: 'application/octet-stream' })
    await spooled.dispose()
    files.set(id, {
      path,
      originalFilename: 'a.bin',
      contentType: 'application/octet-stream',
      sizeBytes: spooled.sizeBytes,
      checksum: `sha256:${spooled.content.sha256}`,
      createdAt: new Date(),
    })
    const url = new URL(
      await storage.signDownload({ fileId: id, path, filename: 'a.bin', contentType: '', expiresInSeconds: 3600 }),
    )
    response.json({ url: url.pathname + url.search, file: storage.fileOf(path) })
  })
  app.get('/download/:fileId', serveBlob({ storage, findFile: async (id) => files.get(id) ?? null }))
  listen(http.createServer(app))
}

/** The least that does the same: hash, write, fsync; and a stream of the file. */
async function serveBare() {
  let count = 0
  listen(
    http.createServer(async (request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'Content-Length': size })
        return void createReadStream(join(directory, request.url)).pipe(response)
      }
      const name = `/bare-${++count}`
      const hash = createHash('sha256')
      const file = await open(join(directory, name), 'wx')
      for await (const piece of request) {
        hash.update(piece)
        await file.write(piece)
      }
      await file.sync()
      await file.close()
      response.end(JSON.stringify({ url: name, digest: hash.digest('hex') }))
    }),
  )
}

function listen(server) {
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  process.on('disconnect', () => process.exit())
}

async function compare() {
  const directory = await mkdtemp(join(tmpdir(), 'assay-bench-'))
  const stops = []
  try {
    const source = join(directory, 'source')
    await writeFile(source, randomBytes(size))
    const start = async (role) => {
      const child = fork(import.meta.filename, [], { env: { ...process.env, BENCH_ROLE: role, BENCH_DIRECTORY: directory } })
      stops.push(() => child.kill())
      return { pid: child.pid, base: `http://127.0.0.1:${await new Promise((resolve) => child.once('message', resolve))}` }
    }
    const [assay, bare] = [await start('assay'), await start('bare')]
    const nginx = await startNginx(directory, stops)
    const results = { 'upload assay': [], 'upload bare': [], 'download assay': [], 'download bare': [], 'download nginx': [] }
    for (let round = 0; round <= rounds; round++) {
      // The first round warms up.
      const note = (name, speed) => round > 0 && results[name].push(speed)
      const ours = await curl('-T', source, `${assay.base}/`)
      note('upload assay', ours.upload)
      const theirs = await curl('-T', source, `${bare.base}/`)
      note('upload bare', theirs.upload)
      note('download assay', (await curl('-o', '/dev/null', assay.base + ours.body.url)).download)
      note('download bare', (await curl('-o', '/dev/null', bare.base + theirs.body.url)).download)
      if (nginx) note('download nginx', (await curl('-o', '/dev/null', `${nginx}${theirs.body.url}`)).download)
      await rm(ours.body.file)
      await rm(join(directory, theirs.body.url))
    }
    const medians = Object.fromEntries(
      Object.entries(results)
        .filter(([, speeds]) => speeds.length > 0)
        .map(([name, speeds]) => [name, median(speeds)]),
    )
    for (const [name, speed] of Object.entries(medians)) console.log(`${name.padEnd(16)} ${speed.toFixed(0).padStart(6)} MB/s`)
    for (const way of ['upload', 'download'])
      console.log(`${way}: ${(medians[`${way} assay`] / medians[`${way} bare`]).toFixed(2)} of the bare server (target 0.80)`)
    if (nginx) console.log(`download: ${(medians['download assay'] / medians['download nginx']).toFixed(2)} of nginx`)
    else console.log('nginx is not installed: not compared.')
    console.log(`eight uploads of 1 GiB at once: the process at ${await peakMemory(assay, directory)} MB at most (target 300)`)
  } finally {
    for (const stop of stops) stop()
    await sleep(200)
    await rm(directory, { recursive: true, force: true })
  }
}

async function curl(...parameters) {
  const { stdout } = await promisify(execFile)('curl', [
    '-sS',
    '-H',
    'Expect:',
    '-w',
    '\n%{speed_upload} %{speed_download}',
    ...parameters,
  ])
  const [body, speeds] = [stdout.slice(0, stdout.lastIndexOf('\n')), stdout.slice(stdout.lastIndexOf('\n') + 1).split(' ')]
  return { body: body && JSON.parse(body), upload: speeds[0] / 1e6, download: speeds[1] / 1e6 }
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

/** The highest resident size while eight bodies of 1 GiB stream in at once. */
async function peakMemory({ pid, base }, directory) {
  const source = join(directory, 'gigabyte')
  const file = await open(source, 'w')
  await file.truncate(1024 * 1024 * 1024)
  await file.close()
  let peak = 0
  const watching = setInterval(async () => {
    const status = await stat(`/proc/${pid}`)
      .then(() => execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString())
      .catch(() => '0')
    peak = Math.max(peak, Number(status) / 1024)
  }, 50)
  await Promise.all(Array.from({ length: 8 }, async () => rm((await curl('-T', source, `${base}/`)).body.file)))
  clearInterval(watching)
  return peak.toFixed(0)
}

async function startNginx(directory, stops) {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
  } catch {
    return null
  }
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/nginx-${name};`)
    .join(' ')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const http = `http { access_log off; sendfile on; ${temp} server { listen 127.0.0.1:${port}; root ${directory}; } }`
  await writeFile(
    join(directory, 'nginx.conf'),
    `${user} daemon off; worker_processes 1; pid ${directory}/nginx.pid; events {} ${http}\n`,
  )
  const child = spawn('nginx', ['-e', join(directory, 'nginx.log'), '-p', directory, '-c', join(directory, 'nginx.conf')], {
    stdio: 'ignore',
  })
  stops.push(() => child.kill())
  await sleep(500)
  return `http://127.0.0.1:${port}`
}
