import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const catchUpMs = 300_000
// Failures must be rare because each retry is delayed by five seconds.
const failEvery = 100

/** Webhooks that must receive every event at least once and in order, even if replicas are killed while they send. */
export class Webhooks {
  #run
  #ask
  #requestUntilAnswered
  #server
  #requests = 0
  /** Acknowledged events by path of the webhook URL, in the order of their first arrival. */
  #received = new Map()
  counts = { webhooks: 0, delivered: 0, repeated: 0, failed: 0 }

  /** `ask` and `requestUntilAnswered` are the functions that the other clients use. */
  constructor({ run, ask: request, requestUntilAnswered }) {
    this.#run = run
    this.#ask = request
    this.#requestUntilAnswered = requestUntilAnswered
  }

  /** Creates one webhook per tenant with a unique URL, because a lost response may leave an additional webhook. */
  async open(tenants) {
    this.#server = http.createServer((request, response) => void this.#receive(request, response))
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    const { port } = this.#server.address()
    for (const tenant of tenants) {
      const created = await this.#requestUntilAnswered(this.#run, (url) =>
        this.#ask(url, tenant, '/webhooks', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ url: `http://127.0.0.1:${port}/${randomBytes(8).toString('hex')}` }),
        }),
      )
      if (created.status !== 201) this.#run.faults.push(`a webhook returned ${created.status}: ${JSON.stringify(created.body)}`)
    }
  }

  /** Waits until each webhook has received the last event, then compares the events with the journal. */
  async verify(client) {
    const { rows: webhooks } = await client.query('SELECT tenant_id, webhook_id, url, status FROM webhooks')
    this.counts.webhooks = webhooks.length
    const until = performance.now() + catchUpMs
    for (const { tenant_id, webhook_id, url, status } of webhooks) {
      const received = this.#receivedAt(new URL(url).pathname)
      const { rows: expected } = await client.query(
        `SELECT sequence::int, event_id FROM journal WHERE tenant_id = $1 AND sequence >
           (SELECT sequence FROM journal WHERE tenant_id = $1 AND type = 'webhook.created' AND subject = $2) ORDER BY sequence`,
        [tenant_id, webhook_id],
      )
      while (received.length < expected.length && performance.now() < until) await sleep(200)
      const { faults } = this.#run
      if (status !== 'active') faults.push(`${webhook_id} is ${status}`)
      if (received.length !== expected.length)
        faults.push(`${webhook_id} received ${received.length} of ${expected.length} events`)
      const wrong = received.findIndex(({ id }, at) => id !== expected[at]?.event_id)
      if (wrong >= 0)
        faults.push(`${webhook_id} received event ${received[wrong].sequence} instead of ${expected[wrong]?.sequence}`)
    }
  }

  close() {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  #receivedAt(path) {
    if (!this.#received.has(path)) this.#received.set(path, [])
    return this.#received.get(path)
  }

  async #receive(request, response) {
    try {
      const { data } = JSON.parse(Buffer.concat(await request.toArray()).toString())
      if (++this.#requests % failEvery === 0) {
        this.counts.failed++
        return void response.writeHead(503).end()
      }
      const id = request.headers['webhook-id']
      const received = this.#receivedAt(request.url)
      if (received.some((each) => each.id === id)) this.counts.repeated++
      else {
        received.push({ id, sequence: data.sequence })
        this.counts.delivered++
      }
      response.writeHead(204).end()
    } catch {
      // The request failed because the sending replica was killed.
      response.destroy()
    }
  }
}
