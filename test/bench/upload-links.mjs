// npm run bench:links -- [--rounds N] [--seconds N]: compares uploads of 10 KiB by API key and by upload link, as a form and as a
// raw body. Rounds alternate between the three. Results are median ratios of uploads per second to uploads by key.
import { randomBytes, randomInt } from 'node:crypto'
import http from 'node:http'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { getUsedCpu, subtractTimes } from './support/cpu.mjs'
import { createMultipartForm, getMedian, measureRate, request, startService } from './support/service.mjs'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' }, seconds: { type: 'string', default: '2' } } })
const service = await startService()
const agent = new http.Agent({ keepAlive: true })
const authorization = { authorization: `Bearer ${service.key}` }

async function sendRequest(with_, path, init) {
  const response = await request(with_, service.url + path, init)
  if (response.status !== 201) throw new Error(`${response.status}: ${response.text().slice(0, 300)}`)
  return response
}
const createResource = async (path, body) => {
  const headers = { ...authorization, 'content-type': 'application/json' }
  const response = await sendRequest(agent, `/api/v1${path}`, {
    method: 'POST',
    headers,
    body: [Buffer.from(JSON.stringify(body))],
  })
  return JSON.parse(response.text()).data
}

await createResource('/contexts', {
  context_key: 'bench',
  display_name: 'Bench',
  allowed_extensions: ['txt'],
  max_file_size_mb: 10,
  storage_quota_mb: 100_000,
})
// An upload link accepts at most 1,000 files.
const links = []
while (links.length < 100) {
  const { url } = await createResource('/upload-links', { context: 'bench', max_files: 1000, expires_in_seconds: 86_400 })
  links.push(new URL(url).pathname)
}

const createContent = () => Buffer.from(randomBytes(7_680).toString('base64'))
const pickLink = () => links[randomInt(links.length)]
const createForm = () => createMultipartForm('bench', 'file.txt', createContent())
const uploads = {
  'by API key': (with_) => {
    const { headers, body } = createForm()
    return sendRequest(with_, '/api/v1/files/upload', { method: 'POST', headers: { ...authorization, ...headers }, body })
  },
  'by link, POST /upload/{token}': (with_) => {
    const { headers, body } = createForm()
    // The `context` part is omitted because the link determines the context.
    return sendRequest(with_, pickLink(), { method: 'POST', headers, body: body.slice(2) })
  },
  'by link, PUT /upload/{token}/{filename}': (with_) =>
    sendRequest(with_, `${pickLink()}/file.txt`, { method: 'PUT', body: [createContent()] }),
}

console.log(`Load of the machine: ${loadavg()[0].toFixed(1)}.\n`)
console.log(
  '| upload of 10 KiB | connections | per second | ratio to API key | CPU ms (main thread) + PostgreSQL |\n|---|---|---|---|---|',
)
for (const call of Object.values(uploads)) await measureRate(8, 3, call)
for (const connections of [1, 8, 32]) {
  const measured = Object.fromEntries(Object.keys(uploads).map((name) => [name, []]))
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [name, call] of Object.entries(uploads)) {
      const [cpu, start] = [getUsedCpu(service), performance.now()]
      const speed = await measureRate(connections, Number(values.seconds), call)
      const count = (speed * (performance.now() - start)) / 1000
      measured[name].push({ speed, count, used: subtractTimes(getUsedCpu(service), cpu) })
    }
  const byKey = measured['by API key']
  for (const [name, rows] of Object.entries(measured)) {
    const ratio = getMedian(rows.map(({ speed }, round) => speed / byKey[round].speed))
    const calls = rows.reduce((sum, { count }) => sum + count, 0)
    const formatCpu = (part) => (rows.reduce((sum, { used }) => sum + used[part], 0) / calls).toFixed(2)
    const rate = getMedian(rows.map(({ speed }) => speed)).toFixed(1)
    console.log(
      `| ${name} | ${connections} | ${rate} | ${ratio.toFixed(2)} | ${formatCpu('all')} (${formatCpu('main')}) + ${formatCpu('database')} |`,
    )
  }
}
agent.destroy()
await service.stop()
