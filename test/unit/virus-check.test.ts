import { describe, expect, test } from '@jest/globals'
import { createMetrics, instrumentScanner } from '../../src/api/http/metrics.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { WorkerPool } from '../../src/inspection/workers/worker-pool.js'
import { scannerUnavailable } from '../../src/platform/errors/errors.js'
import type { Content } from '../../src/platform/spool/content.js'
import { eicar } from '../support/eicar.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

const mebibyte = 1_048_576
const text = (size: number, head: Buffer | string = 'text') =>
  Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'text\n')]).subarray(0, size)

test('measures the scan time even if the scanner runs in the worker', async () => {
  const pool = new WorkerPool({ workers: 1 })
  const engine = await YaraScanner.open({ pool })
  const metrics = createMetrics({} as Parameters<typeof createMetrics>[0])
  const separateScan = { scan: () => Promise.reject(new Error('a separate scan')) }
  const scanner = instrumentScanner(Object.assign(engine, separateScan), metrics)
  const inspector = createInspector({ scanner, pool })
  try {
    for (const size of [100_000, 5 * mebibyte]) {
      const report = await inspector.inspect(createSubmission('a.csv', text(size, eicar), { scanForViruses: true }))
      expect(report.reason).toBe('virus_detected')
    }
    expect((await metrics.scan.get()).values).toContainEqual(
      expect.objectContaining({ metricName: 'assay_scan_duration_seconds_count', value: 2 }),
    )
  } finally {
    await engine.close()
    await pool.close()
  }
})

/** A scanner that counts its scans, each of which runs until its signal is aborted. */
class EndlessScanner implements VirusScanner {
  started = 0
  onStart = () => {}

  async scan(_: Content, { signal }: { signal: AbortSignal }): Promise<never> {
    this.started++
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      this.onStart()
    })
  }

  async getIdentity(): Promise<never> {
    throw scannerUnavailable('down')
  }

  async verifyDetection() {}
  async close() {}
}

describe('scanners outside the process', () => {
  test.each([
    ['the context does not scan', 'a.txt', { scanForViruses: false }],
    ['the extension is not allowed', 'a.txt', { allowedExtensions: ['pdf'] }],
    ['the file is too large', 'a.txt', { maxFileSizeMb: 0.5 }],
    ['another check rejects the file', 'a.pdf', {}],
  ])('skips the virus scan if %s', async (_, name, rules) => {
    const scanner = new EndlessScanner()
    const inspector = createInspector({ scanner, workers: 1 })
    const report = await inspector.inspect(createSubmission(name, text(5 * mebibyte), { scanForViruses: true, ...rules }))
    await inspector.close()
    expect([report.engine, scanner.started]).toEqual([null, 0])
  })

  test('stops the virus scan if the client disconnects', async () => {
    const scanner = new EndlessScanner()
    const inspector = createInspector({ scanner, workers: 1 })
    const client = new AbortController()
    scanner.onStart = () => client.abort(new Error('disconnected'))
    const file = createSubmission('a.txt', text(5 * mebibyte), { scanForViruses: true }, client.signal)
    await expect(inspector.inspect(file)).rejects.toThrow('disconnected')
    expect(scanner.started).toBe(1)
    await inspector.close()
  })

  test('does not start a virus scan if the client has already disconnected', async () => {
    const scanner = new ScriptedScanner({ verdict: 'clean' })
    const inspector = createInspector({ scanner, workers: 1 })
    const file = createSubmission(
      'a.txt',
      text(5 * mebibyte),
      { scanForViruses: true },
      AbortSignal.abort(new Error('disconnected')),
    )
    await expect(inspector.inspect(file)).rejects.toThrow('disconnected')
    await inspector.close()
  })
})
