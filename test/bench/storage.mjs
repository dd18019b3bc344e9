// npm run bench:storage [-- --rounds 7 --mb 100 --no-memory]: compares the service with a minimal node:http server that hashes
// and writes the same bytes with fsync, and with nginx if installed. curl alternates transfers of 100 MiB in each direction.
// Results are median ratios with a target of 0.80 of the minimal server. Then memory.mjs measures the memory of eight uploads of
// 1 GiB.
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { findFreePort, getMedian, startProcess, startService } from './support/service.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    mb: { type: 'string', default: '100' },
    'no-memory': { type: 'boolean', default: false },
  },
})
const megabytes = Number(options.mb)
const directory = mkdtempSync(join(tmpdir(), 'assay-bench-'))
const stops = [() => rm(directory, { recursive: true, force: true })]
try {
  await compare()
} finally {
  for (const stop of stops.reverse()) await stop()
}
if (!options['no-memory'])
  process.exitCode = spawnSync(process.execPath, [fileURLToPath(new URL('./memory.mjs', import.meta.url)), '--mb', '1024'], {
    stdio: 'inherit',
  }).status

async function compare() {
  const service = await startService()
  stops.push(() => service.stop())
  const bare = await startProcess(new URL('./support/bare-blobs.mjs', import.meta.url), [directory])
  stops.push(() => bare.stop())
  const nginx = await startNginx()
  const authorization = ['-H', `Authorization: Bearer ${service.key}`]
  const json = ['-H', 'Content-Type: application/json']
  const [everyRule, noRule] = [{}, { scan_for_viruses: false, reject_corrupt_files: false, reject_blank_files: false }]
  for (const [context, rules] of Object.entries({ every_rule: everyRule, no_rule: noRule })) {
    const limits = { allowed_extensions: ['bin', 'txt'], max_file_size_mb: 1024, storage_quota_mb: 100_000 }
    const body = JSON.stringify({ context_key: context, display_name: context, ...limits, ...rules })
    await expectStatus(201, await runCurl(...authorization, ...json, '-d', body, `${service.url}/api/v1/contexts`))
  }
  const bin = join(directory, 'source.bin')
  const txt = join(directory, 'source.txt')
  writeFileSync(bin, randomBytes(megabytes * 1_048_576))
  writeFileSync(
    txt,
    randomBytes(36)
      .toString('base64')
      .concat('\n')
      .repeat(megabytes * 21_400),
  )

  const uploadToService = async (context, source) => {
    const form = ['-F', `context=${context}`, '-F', `file=@${source}`]
    return expectStatus(201, await runCurl(...authorization, ...form, `${service.url}/api/v1/files/upload`))
  }
  const speeds = {}
  const recordSpeed = (name, speed) => (speeds[name] ??= []).push(speed)
  for (let round = 0; round <= Number(options.rounds); round++) {
    // The first round is a warm-up and is not recorded.
    const keep = round > 0 ? recordSpeed : () => {}
    const serviceRate = await uploadToService('every_rule', bin)
    keep('upload: every rule', serviceRate.upload)
    keep('upload: no rule', (await uploadToService('no_rule', bin)).upload)
    keep('upload: every rule, text', (await uploadToService('every_rule', txt)).upload)
    const bareRate = await expectStatus(200, await runCurl('-T', bin, `${bare.url}/`))
    keep('upload: bare server', bareRate.upload)
    const { body: download } = await expectStatus(
      200,
      await runCurl(...authorization, `${service.url}/api/v1/files/${serviceRate.body.data.file_id}`),
    )
    keep('download: Assay', (await runCurl('-o', '/dev/null', download.data.download_url)).download)
    keep('download: bare server', (await runCurl('-o', '/dev/null', bare.url + bareRate.body.url)).download)
    if (nginx) keep('download: nginx', (await runCurl('-o', '/dev/null', nginx + bareRate.body.url)).download)
    await rm(join(directory, bareRate.body.url))
  }
  console.log(`${megabytes} MiB per transfer, sequential, medians of ${options.rounds}:\n`)
  for (const [name, values] of Object.entries(speeds)) {
    const bareServer = getMedian(speeds[`${name.split(':')[0]}: bare server`])
    const ratio = (getMedian(values) / bareServer).toFixed(2)
    console.log(`${name.padEnd(26)} ${getMedian(values).toFixed(0).padStart(6)} MB/s ${ratio.padStart(6)} of the bare server`)
  }
  if (!nginx) console.log('nginx is not installed and not compared.')
}

async function expectStatus(status, got) {
  if (got.status !== status) throw new Error(`${got.status}: ${JSON.stringify(got.body)}`)
  return got
}

/** Returns the transfer speed in MB (10^6 bytes) per second. */
async function runCurl(...parameters) {
  const format = '\n%{http_code} %{size_upload} %{size_download} %{time_total} %{time_pretransfer}'
  const { stdout } = await promisify(execFile)('curl', ['-sS', '-H', 'Expect:', '-w', format, ...parameters])
  const [body, facts] = [stdout.slice(0, stdout.lastIndexOf('\n')), stdout.slice(stdout.lastIndexOf('\n') + 1).split(' ')]
  const [status, sent, received, total, before] = facts.map(Number)
  const seconds = total - before
  return { status, body: body && JSON.parse(body), upload: sent / seconds / 1e6, download: received / seconds / 1e6 }
}

async function startNginx() {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
  } catch {
    return null
  }
  const port = await findFreePort()
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
