import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from '@jest/globals'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { createExporterWithTimeout, openOtlp } from '../../src/platform/telemetry/otlp.js'

test('closes the telemetry exporter even if the collector never responds', async () => {
  const collector = createServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')),
  )
  await once(collector.listen(0, '127.0.0.1'), 'listening')
  const connected = once(collector, 'connection')
  const tracing = openOtlp(`http://127.0.0.1:${(collector.address() as AddressInfo).port}`)
  // A full batch is sent immediately.
  for (let span = 0; span < 512; span++) tracing.request('GET', { traceparent: undefined, attributes: {} }).end()
  await connected
  await tracing.close()
  collector.close()
})

test('replaces a telemetry exporter that does not finish an export', async () => {
  const exporters: string[] = []
  const open = (): SpanExporter => {
    const isFirst = exporters.push('opened') === 1
    return {
      export: (_spans, done) => (isFirst ? undefined : done({ code: 0 })),
      shutdown: () => new Promise(() => {}),
    }
  }
  const exporter = createExporterWithTimeout(open, 10)
  const send = () => new Promise<unknown>((resolve) => exporter.export([], resolve))
  expect(await send()).toMatchObject({ code: 1, error: new Error('No response from the collector within 10 ms.') })
  expect(await send()).toEqual({ code: 0 })
  expect(exporters).toHaveLength(2)
  await exporter.shutdown()
})
