import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { findFreePort } from './free-port.js'
import type { World } from './world.js'

/** A delivery received by the endpoint. */
export interface Received {
  id: string
  path: string
  headers: Record<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  body: any
}

type Reply = (received: Received, response: ServerResponse, nth: number) => void

export const createReply =
  (status: number, headers: Record<string, string> = {}): Reply =>
  (_, response) =>
    void response.writeHead(status, headers).end()

/** A webhook endpoint that records deliveries and responds as configured. */
export class WebhookReceiver {
  readonly received: Received[] = []
  reply: Reply = createReply(204)
  readonly #server: Server
  readonly #waiting = new Set<() => void>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<WebhookReceiver> {
    const server = createServer((request, response) => void receiver.#receive(request, response))
    const receiver = new WebhookReceiver(server)
    // Uses a new port because undelivered events for an earlier receiver are still retried.
    await once(server.listen(Number(await findFreePort()), '127.0.0.1'), 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** Returns all deliveries when they satisfy the condition. */
  async until(isEnough: (received: Received[]) => boolean): Promise<Received[]> {
    while (!isEnough(this.received)) await new Promise<void>((resolve) => this.#waiting.add(resolve))
    return this.received
  }

  atLeast = (count: number) => this.until(({ length }) => length >= count)

  get sequences(): number[] {
    return this.received.map(({ body }) => body.data.sequence)
  }

  /** Verifies with the reference package of Standard Webhooks. Throws if the signature does not match the secret. */
  static verify(secret: string, { headers, text }: Received): unknown {
    return new Webhook(secret).verify(text, headers)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString()
    const received = {
      id: String(request.headers['webhook-id']),
      path: request.url!,
      headers: request.headers as Record<string, string>,
      text,
      body: JSON.parse(text),
    }
    this.received.push(received)
    this.reply(received, response, this.received.length)
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

/** Appends events to a journal as the ledger does, and returns the last sequence number. */
export async function appendEvents(
  world: Pick<World, 'database'>,
  tenantId: string,
  events: { type?: string; contextKey?: string | null; data?: object }[],
): Promise<number> {
  const { rows } = await world.database.pool.query<{ last: number }>(
    `WITH head AS (UPDATE tenant_heads SET journal_length = journal_length + $2 WHERE tenant_id = $1 RETURNING journal_length),
      added AS (INSERT INTO journal (tenant_id, sequence, event_id, type, subject, context_key, occurred_at, entry, leaf)
        SELECT $1, s.sequence, 'evt_' || s.sequence, e.type, 'x', e."contextKey", now(),
          jsonb_build_object('type', e.type, 'occurred_at', '2026-11-22T10:00:00.000Z', 'event_id', 'evt_' || s.sequence, 'sequence', s.sequence, 'data', e.data)::text, ''
        FROM head, jsonb_to_recordset($3::jsonb) AS e(n bigint, type text, "contextKey" text, data jsonb),
          LATERAL (SELECT journal_length - $2 + e.n AS sequence) s)
     SELECT journal_length AS last FROM head`,
    [
      tenantId,
      events.length,
      JSON.stringify(
        events.map(({ type = 'file.deleted', contextKey = null, data = {} }, index) => ({
          n: index + 1,
          type,
          contextKey,
          data,
        })),
      ),
    ],
  )
  return rows[0]!.last
}
