// Attacker process: repeats one request on many connections until stopped.
import { Agent, request } from 'node:http'

const { url, key, method = 'GET', body, connections } = JSON.parse(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: connections })
const statuses = {}
let isStopped = false

const sendRequest = () =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = request(url, { method, agent, headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => resolve(Buffer.concat(chunks).includes('RATE_LIMITED') ? 'RATE_LIMITED' : response.statusCode))
      response.on('error', () => resolve('lost'))
    })
    sent.on('error', () => resolve('lost'))
    sent.end(body && JSON.stringify(body))
  })

process.on('message', () => {
  isStopped = true
  process.send(statuses)
})
for (let connection = 0; connection < connections; connection++)
  void (async () => {
    while (!isStopped) {
      const status = await sendRequest()
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  })()
process.send('started')
