import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { type TestTenant, World } from '../support/world.js'

interface Collected {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  status: { code?: number }
}

/** Runs a minimal OTLP collector that receives spans over HTTP. */
const spans: Collected[] = []
let collector: Server
let bucketWorld: BucketWorld
let world: World
let tenant: TestTenant

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    for (const { resource, scopeSpans } of body.resourceSpans) {
      expect(JSON.stringify(resource.attributes)).toContain('"assay"')
      for (const scope of scopeSpans) spans.push(...scope.spans)
    }
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  bucketWorld = await openBucketWorld()
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`
  world = await World.open({ ...bucketWorld.env, OTEL_EXPORTER_OTLP_ENDPOINT, LOG_LEVEL: 'info' })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(async () => {
  await bucketWorld.close()
  collector.closeAllConnections()
  collector.close()
})

const createTrace = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') })
const toHeaders = ({ traceId, spanId }: ReturnType<typeof createTrace>) => ({ traceparent: `00-${traceId}-${spanId}-01` })
const of = (traceId: string) => spans.filter((span) => span.traceId === traceId)

test('creates a separate trace for each of two concurrent uploads', async () => {
  const [one, two, unsampled] = [createTrace(), createTrace(), createTrace()]
  const responses = await Promise.all([
    tenant.admin.upload('notes', 'secret-name.txt', 'one', { headers: toHeaders(one) }),
    tenant.admin.upload('notes', 'other.txt', 'two', { headers: toHeaders(two) }),
  ])
  expect(responses.map(({ status }) => status)).toEqual([201, 201])
  await tenant.admin.get('/files?context=notes', { traceparent: `00-${unsampled.traceId}-${unsampled.spanId}-00` })
  await tenant.admin.get('/files', { traceparent: 'nonsense' })
  bucketWorld.bucket.faults.plan('upload', { kind: 'status', status: 403 })
  const failing = createTrace()
  expect((await tenant.admin.upload('notes', 'c.txt', 'three', { headers: toHeaders(failing) })).status).toBe(503)
  const handedOn = bucketWorld.bucket.traceparents.map((header) => header.split('-')[1])
  // The service exports remaining spans at shutdown.
  await world.close()

  for (const [n, { traceId, spanId }] of [one, two].entries()) {
    const own = of(traceId)
    const root = own.find((span) => span.name === 'POST rest')!
    expect(root).toMatchObject({ parentSpanId: spanId })
    expect(JSON.stringify(root.attributes)).toContain(responses[n]!.headers.get('x-request-id'))
    expect(own.map(({ name }) => name).sort()).toEqual(['POST rest', 'checks', 'ledger wait', 'scan', 'store'])
    const known = new Set(own.map((span) => span.spanId))
    for (const span of own.filter((each) => each !== root)) {
      expect(known).toContain(span.parentSpanId)
      expect(BigInt(span.startTimeUnixNano)).toBeLessThanOrEqual(BigInt(span.endTimeUnixNano))
    }
    expect(handedOn).toContain(traceId)
  }
  expect(
    of(failing.traceId)
      .filter(({ status }) => status.code === 2)
      .map(({ name }) => name),
  ).toEqual(expect.arrayContaining(['POST rest', 'store']))
  expect(of(unsampled.traceId)).toEqual([])
  const lines = world.log.lines.map((line) => JSON.parse(line)).filter(({ method }) => method === 'POST')
  expect(lines.map(({ trace_id }) => trace_id)).toEqual(expect.arrayContaining([one.traceId, two.traceId]))
  expect(JSON.stringify(spans)).not.toMatch(/secret-name|context=notes/)
})

test('loads OpenTelemetry in only one module, and only if a collector is configured', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const readers = (pattern: RegExp) => files.filter((name) => pattern.test(readFileSync(join('src', name), 'utf8')))
  expect(readers(/from '@opentelemetry/)).toEqual(['platform/telemetry/otlp.ts'])
  expect(readers(/from '[^']*otlp\.js'/)).toEqual([])
})
