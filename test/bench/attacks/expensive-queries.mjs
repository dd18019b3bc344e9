// One tenant sends the most expensive valid requests on 64 connections while another tenant reads metadata.
import {
  getPercentile,
  measureDurations,
  sendRequest,
  startAttackedService,
  startAttacker,
} from '../../support/attacked-service.mjs'

export const name = 'Expensive GraphQL documents and yearly charts of one tenant, on 64 connections'

const files = `files(pageSize: 20) { data { fileId originalFilename metadata validation {
  outcome detectedContentType sizeBytes checksum checks { check outcome message evidence durationMs } engine { name version } } } }`
const document = `{ ${Array.from({ length: 20 }, (_, field) => `f${field}: ${files}`).join(' ')} }`
const chart = '/api/v1/stats/charts/api-calls?period=hourly&days=365'
const chartField = 'dataPoints { timestamp total success failure byOperation { upload download metadata delete } }'

export async function run() {
  const attacked = await startAttackedService()
  const { service, attackerKey, otherKey } = attacked
  try {
    await prepareFiles(service.url, attackerKey)
    await prepareFiles(service.url, otherKey)
    const graphql = { url: `${service.url}/graphql`, method: 'POST' }
    const loads = {
      'documents with 20 × 20 files and reports': { ...graphql, body: { query: document } },
      'yearly charts by REST': { url: service.url + chart },
      'yearly charts by GraphQL': {
        ...graphql,
        body: { query: `{ apiCallsChart(period: hourly, days: 365) { ${chartField} } }` },
      },
    }
    const figures = []
    const notes = []
    for (const [load, options] of Object.entries(loads)) {
      const { p50, p99, live, statuses, memoryMb } = await measure(attacked, { ...options, key: attackerKey })
      figures.push(
        { name: `${load}: other tenant, 99th percentile, ms`, value: p99, max: 250 },
        { name: `${load}: slowest /health/live, ms`, value: live, max: 1_000 },
        { name: `${load}: memory, MB`, value: memoryMb, max: 600 },
      )
      notes.push(`${load}: other tenant's median ${p50.toFixed(0)} ms; responses to the attacker: ${JSON.stringify(statuses)}`)
    }
    return { figures, notes }
  } finally {
    await attacked.stop()
  }
}

async function prepareFiles(url, key) {
  const context = { context_key: 'inbox', display_name: 'Inbox', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  await sendRequest(`${url}/api/v1/contexts`, key, { method: 'POST', body: context })
  for (let file = 0; file < 20; file++) {
    const body = new FormData()
    body.append('context', 'inbox')
    body.append('metadata', JSON.stringify({ order: file }))
    body.append('file', new Blob([`text ${file}`]), `${file}.txt`)
    const { status } = await sendRequest(`${url}/api/v1/files/upload`, key, { method: 'POST', body })
    if (status !== 201) throw new Error(`An upload returned the status ${status}.`)
  }
}

async function measure({ service, otherKey, memoryMb }, options) {
  const attacker = await startAttacker(new URL('../../support/query-attacker.mjs', import.meta.url), {
    ...options,
    connections: 64,
  })
  const requestMetadata = () => sendRequest(`${service.url}/api/v1/files?page_size=5`, otherKey).then(expectOk)
  let memory = 0
  // The attack needs some time to fill every queue.
  await measureDurations(requestMetadata, { runs: 10_000, maxMs: 2_000 })
  const durations = await measureDurations(
    async () => {
      await requestMetadata()
      memory = Math.max(memory, memoryMb())
    },
    { runs: 500, maxMs: 15_000 },
  )
  const live = await measureDurations(() => fetch(`${service.url}/health/live`).then(expectOk), { runs: 50, maxMs: 5_000 })
  const statuses = await attacker.stop()
  return {
    p50: getPercentile(durations, 0.5),
    p99: getPercentile(durations, 0.99),
    live: live.at(-1),
    statuses,
    memoryMb: memory,
  }
}

function expectOk({ status }) {
  if (status !== 200) throw new Error(`A call of the other tenant returned the status ${status}.`)
}
