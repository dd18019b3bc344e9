// npm run bench: the service beside a bare node:http server (support/bare-server.mjs) in one run, as ratios.
// `-- NAME` measures the operations whose names hold it, `-- --quick` one round of a second of each among 1,000 files. Rounds are interleaved,
// so that whatever the machine does meanwhile happens to both. CPU is that of the service's process and of its main thread, for each call.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { borrowDatabase } from '../../dist/platform/db/embedded/embedded.js'
import { median, multipart, perSecond, request, startProcess, startService } from './support/service.mjs'

const quick = process.argv.includes('--quick')
const rounds = quick ? 1 : 3
const service = await startService()
const { url: databaseUrl } = await borrowDatabase({ dataDir: service.dataDir, databaseUrl: undefined })
const directory = mkdtempSync(join(tmpdir(), 'assay-bare-'))
const bare = await startProcess(new URL('./support/bare-server.mjs', import.meta.url), [databaseUrl, directory])
const authorization = { authorization: `Bearer ${service.key}` }
const agent = new http.Agent({ keepAlive: true })

const expect = async (status, answer) => {
  const got = await answer
  if (got.status !== status) throw new Error(`${got.status}: ${got.text().slice(0, 300)}`)
  return got
}
const json = async (answer) => JSON.parse((await answer).text())

const noChecks = { scan_for_viruses: false, reject_corrupt_files: false, reject_blank_files: false }
for (const [context, rules] of Object.entries({ bench: {}, unchecked: noChecks }))
  await expect(
    201,
    request(agent, `${service.url}/api/v1/contexts`, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: [
        Buffer.from(
          JSON.stringify({
            context_key: context,
            display_name: context,
            allowed_extensions: ['txt', 'bin', 'png'],
            max_file_size_mb: 200,
            storage_quota_mb: 100_000,
            ...rules,
          }),
        ),
      ],
    }),
  )
const line = `${randomBytes(48).toString('base64')}\n`
const content = (size) => Buffer.from(line.repeat(Math.ceil(size / line.length)).slice(0, size))

const side = (bytes) => Math.round(Math.sqrt(bytes / 3))
/** A picture of noise, which is as large as its pixels. */
const png = (bytes) =>
  sharp(randomBytes(side(bytes) ** 2 * 3), { raw: { width: side(bytes), height: side(bytes), channels: 3 } })
    .png()
    .toBuffer()

const upload = (file, { name = 'file.txt', context = 'bench' } = {}) => {
  const form = multipart(context, name, file)
  return {
    ours: (with_) =>
      expect(
        201,
        request(with_, `${service.url}/api/v1/files/upload`, {
          method: 'POST',
          headers: { ...authorization, ...form.headers },
          body: form.body,
        }),
      ),
    theirs: (with_) =>
      expect(
        201,
        request(with_, bare.url, { method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body: [file] }),
      ),
  }
}

const files = quick ? 1_000 : 10_000
process.stderr.write(`Preparing ${files} files on both sides…\n`)
const tiny = content(10 * 1024)
const large = content(1024 * 1024)
const small = upload(tiny)
const only = process.argv[2]?.startsWith('--') ? undefined : process.argv[2]
let left = only?.startsWith('upload') ? 10 : files
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (left-- > 0) {
      await small.ours(agent)
      await small.theirs(agent)
    }
  }),
)
const both = async ({ ours, theirs }) => [(await json(ours(agent))).data.file_id, (await json(theirs(agent))).id]
const [fileId, bareId] = await both(small)
const [largeId, bareLargeId] = await both(upload(large))

const read = (ours, theirs) => ({
  ours: (with_) => expect(200, request(with_, service.url + ours, { headers: authorization })),
  theirs: (with_) => expect(200, request(with_, bare.url + theirs)),
})
const download = async (id, bareOf) => {
  const { data } = await json(request(agent, `${service.url}/api/v1/files/${id}`, { headers: authorization }))
  const ours = new URL(data.download_url)
  return read(ours.pathname + ours.search, `/download/${bareOf}`)
}
const operations = {
  'upload 10 KiB': [small, 3],
  'upload 10 KiB, checks off': [upload(tiny, { context: 'unchecked' }), 3],
  'upload 10 KiB, PNG': [upload(await png(10 * 1024), { name: 'a.png' }), 3],
  'upload 1 MiB': [upload(large), 3],
  'upload 1 MiB, checks off': [upload(large, { context: 'unchecked' }), 3],
  'upload 1 MiB, binary': [upload(randomBytes(1024 * 1024), { name: 'a.bin' }), 3],
  'upload 1 MiB, PNG': [upload(await png(1024 * 1024), { name: 'a.png' }), 3],
  'upload 100 MiB': [upload(content(100 * 1024 * 1024)), 4],
  // Made when its turn has come: a download URL is good for a few minutes.
  'download 10 KiB': [() => download(fileId, bareId), 3],
  'download 1 MiB': [() => download(largeId, bareLargeId), 3],
  'download URL': [read(`/api/v1/files/${fileId}`, `/one/${bareId}`), 3],
  'file metadata': [read(`/api/v1/files/${fileId}/metadata`, `/one/${bareId}`), 3],
  [`list 20 of ${files.toLocaleString('en')}`]: [read('/api/v1/files', '/list'), 3],
}

/** Milliseconds of CPU that the service's process has used, and its main thread. */
const cpu = () =>
  ['stat', `task/${service.pid}/stat`].map((file) => {
    const fields = readFileSync(`/proc/${service.pid}/${file}`, 'latin1').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  })

const prepared = Date.now()
/** What an operation stored on both sides, and none reads again: some GB each. */
function tidy() {
  for (const folder of [join(service.dataDir, 'blobs'), directory])
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile() && statSync(path).ctimeMs > prepared) rmSync(path)
    }
}

console.log(`Load of the machine: ${loadavg()[0].toFixed(1)}.\n`)
console.log('| operation | connections | Assay /s | bare server /s | ratio | CPU ms (main thread) |\n|---|---|---|---|---|---|')
for (const [name, [operation, seconds]] of Object.entries(operations)) {
  if (only && !name.includes(only)) continue
  const { ours, theirs } = typeof operation === 'function' ? await operation() : operation
  await perSecond(8, 0.5, ours)
  for (const connections of [1, 8, 32]) {
    const pairs = []
    const used = [0, 0]
    let calls = 0
    for (let round = 0; round < rounds; round++) {
      const before = cpu()
      const counted = (with_) => ours(with_).finally(() => calls++)
      const speed = await perSecond(connections, quick ? 1 : seconds, counted)
      for (const [at, ms] of cpu().entries()) used[at] += ms - before[at]
      pairs.push([speed, await perSecond(connections, quick ? 1 : seconds, theirs)])
    }
    const ratio = median(pairs.map(([a, b]) => a / b))
    const [whole, main] = used.map((ms) => (ms / calls).toFixed(2))
    console.log(
      `| ${name} | ${connections} | ${median(pairs.map(([a]) => a)).toFixed(1)} | ${median(pairs.map(([, b]) => b)).toFixed(1)} | ${ratio.toFixed(2)} | ${whole} (${main}) |`,
    )
  }
  tidy()
}
agent.destroy()
bare.stop()
await service.stop()
rmSync(directory, { recursive: true, force: true })
