// npm run bench: the service beside a bare node:http server (support/bare-server.mjs) in one run, as ratios.
// `-- NAME` measures one operation, `-- --quick` one round of each. Rounds are interleaved, so that whatever the machine does meanwhile happens to both.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { borrowDatabase } from '../../dist/db/embedded/embedded.js'
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

await expect(
  201,
  request(agent, `${service.url}/api/v1/contexts`, {
    method: 'POST',
    headers: { ...authorization, 'content-type': 'application/json' },
    body: [
      Buffer.from(
        JSON.stringify({
          context_key: 'bench',
          display_name: 'Bench',
          allowed_extensions: ['txt', 'bin'],
          max_file_size_mb: 200,
          storage_quota_mb: 100_000,
        }),
      ),
    ],
  }),
)
const line = `${randomBytes(48).toString('base64')}\n`
const content = (size) => Buffer.from(line.repeat(Math.ceil(size / line.length)).slice(0, size))

const upload = (size) => {
  const file = content(size)
  const form = multipart('bench', 'file.txt', file)
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

// 10,000 files on both sides, for the reads.
process.stderr.write('Preparing 10,000 files on both sides…\n')
const small = upload(10 * 1024)
const only = process.argv[2]?.startsWith('--') ? undefined : process.argv[2]
let left = only?.startsWith('upload') ? 10 : 10_000
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (left-- > 0) {
      await small.ours(agent)
      await small.theirs(agent)
    }
  }),
)
const fileId = (await json(request(agent, `${service.url}/api/v1/files?page_size=1`, { headers: authorization }))).data.data[0]
  .file_id
const bareId = (await json(request(agent, `${bare.url}/list`)))[0].id

const read = (ours, theirs) => ({
  ours: (with_) => expect(200, request(with_, service.url + ours, { headers: authorization })),
  theirs: (with_) => expect(200, request(with_, bare.url + theirs)),
})
const operations = {
  'upload 10 KiB': [small, 3],
  'upload 1 MiB': [upload(1024 * 1024), 3],
  'upload 100 MiB': [upload(100 * 1024 * 1024), 4],
  'download URL': [read(`/api/v1/files/${fileId}`, `/one/${bareId}`), 3],
  'file metadata': [read(`/api/v1/files/${fileId}/metadata`, `/one/${bareId}`), 3],
  'list 20 of 10,000': [read('/api/v1/files', '/list'), 3],
}

console.log('| operation | connections | Assay /s | bare server /s | ratio |\n|---|---|---|---|---|')
for (const [name, [{ ours, theirs }, seconds]] of Object.entries(operations)) {
  if (only && !name.includes(only)) continue
  await perSecond(8, 0.5, ours)
  for (const connections of [1, 8, 32]) {
    const pairs = []
    for (let round = 0; round < rounds; round++)
      pairs.push([await perSecond(connections, seconds, ours), await perSecond(connections, seconds, theirs)])
    const ratio = median(pairs.map(([a, b]) => a / b))
    console.log(
      `| ${name} | ${connections} | ${median(pairs.map(([a]) => a)).toFixed(1)} | ${median(pairs.map(([, b]) => b)).toFixed(1)} | ${ratio.toFixed(2)} |`,
    )
  }
}
agent.destroy()
bare.stop()
await service.stop()
rmSync(directory, { recursive: true, force: true })
