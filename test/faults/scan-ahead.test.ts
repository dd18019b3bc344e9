import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { gif } from '../../packages/formats/test/support/samples/basic.js'
import { Metrics, measuredScanner } from '../../src/api/http/metrics.js'
import type { ValidationReport, ValidationRules } from '../../src/inspection/checks/check.js'
import { createValidator } from '../../src/inspection/engine/validator.js'
import { parseClamdUrl } from '../../src/inspection/scanners/clamd/address.js'
import { ClamdScanner } from '../../src/inspection/scanners/clamd/clamd.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { WorkerPool } from '../../src/inspection/workers/worker-pool.js'
import { overloaded, scannerUnavailable } from '../../src/platform/errors/errors.js'
import type { Content } from '../../src/platform/spool/content.js'
import { clean, eicar, inFile } from '../support/eicar.js'
import { startScriptedClamd } from '../support/scripted-clamd.js'
import { inMemory, ScriptedScanner, type ScriptedVerdict, submission } from '../support/validation.js'

// From this size on the scan runs beside the other checks; nothing that anybody can see may depend on it.
const threshold = 4 * 1_048_576

/** Text, or what is said, with the head in front, so many bytes in all. */
const sized = (size: number, head: Buffer | string, fill = 'text\n') =>
  Buffer.concat([Buffer.from(head), Buffer.alloc(size, fill)]).subarray(0, size)

/** What must not depend on the size: all but the times, the digest, and the size where it is told. */
function essence(report: ValidationReport): unknown {
  const told = JSON.stringify(report, (key, value) => (key === 'durationMs' || key === 'validatedAt' ? typeof value : value))
  return JSON.parse(
    told.replaceAll(/(?<=sha256:)[0-9a-f]{64}/g, 'digest').replaceAll(new RegExp(`\\b${report.sizeBytes}\\b`, 'g'), '0'),
  )
}

type Case = [string, { name: string; head: Buffer | string; fill?: string; rules?: Partial<ValidationRules> }, string | null]
const sound: Case = ['sound text', { name: 'a.txt', head: 'text' }, null]
const infected: Case = ['an infected text', { name: 'a.txt', head: eicar }, 'virus_detected']
const cases: Case[] = [
  sound,
  infected,
  ['an infected text under a foreign name', { name: 'a.pdf', head: eicar }, 'corrupt_file'],
  ['a damaged and infected PDF', { name: 'a.pdf', head: Buffer.concat([Buffer.from('%PDF-1.7\n'), eicar]) }, 'corrupt_file'],
  [
    'a damaged and infected PDF where damage is allowed',
    { name: 'a.pdf', head: Buffer.concat([Buffer.from('%PDF-1.7\n'), eicar]), rules: { rejectCorruptFiles: false } },
    'virus_detected',
  ],
  ['an infected GIF called .txt', { name: 'a.txt', head: Buffer.concat([gif(), eicar]) }, 'invalid_extension'],
  [
    'an infected text that may not come',
    { name: 'a.txt', head: eicar, rules: { allowedExtensions: ['pdf'] } },
    'invalid_extension',
  ],
  ['an infected text that is too large', { name: 'a.txt', head: eicar, rules: { maxFileSizeMb: 0.5 } }, 'size_exceeded'],
  ['nothing but spaces', { name: 'a.txt', head: ' ', fill: ' ' }, 'blank_file'],
  ['an infected text that nobody scans', { name: 'a.txt', head: eicar, rules: { scanForViruses: false } }, null],
]

describe('files just under and just over the threshold', () => {
  let scanner: YaraScanner
  let engine: ReturnType<typeof createValidator>
  beforeAll(async () => {
    scanner = await YaraScanner.open({ workers: 1 })
    engine = createValidator({ scanner, workers: 1 })
  })
  afterAll(async () => {
    await engine.close()
    await scanner.close()
  })

  test.each(cases)('%s: the same report', async (_, { name, head, fill, rules }, reason) => {
    const judge = (size: number) => engine.validate(submission(name, sized(size, head, fill), { scanForViruses: true, ...rules }))
    const small = await judge(threshold - 1)
    expect(small.reason).toBe(reason)
    for (const size of [threshold, threshold + 1]) expect(essence(await judge(size))).toEqual(essence(small))
  })

  test('the same from a file', async () => {
    const file = await inFile(sized(threshold, eicar))
    try {
      const judge = (content: Content | Buffer) => engine.validate(submission('a.txt', content, { scanForViruses: true }))
      expect(essence(await judge(file))).toEqual(essence(await judge(sized(threshold - 1, eicar))))
    } finally {
      await file.remove()
    }
  })

  const verdicts: [string, ScriptedVerdict][] = [
    ['incomplete', { verdict: 'incomplete', reason: 'a limit' }],
    ['clean with a note', { verdict: 'clean', note: 'scanned as it is' }],
    ['down', scannerUnavailable('nobody there')],
    ['overloaded', overloaded('too many')],
  ]
  test.each(verdicts)('a scanner that is %s: the same outcome, and damage is told before it', async (_, verdict) => {
    const validator = createValidator({ scanner: new ScriptedScanner(verdict), workers: 1 })
    const outcome = (size: number, name: string) =>
      validator.validate(submission(name, sized(size, 'text'), { scanForViruses: true })).then(essence, ({ code }) => code)
    try {
      for (const name of ['a.txt', 'a.pdf']) expect(await outcome(threshold, name)).toEqual(await outcome(threshold - 1, name))
      expect(await outcome(threshold, 'a.pdf')).toMatchObject({ reason: 'corrupt_file' })
      if (verdict instanceof Error) expect(await outcome(threshold, 'a.txt')).toBe((verdict as { code?: string }).code)
    } finally {
      await validator.close()
    }
  })
})

test('an engine that is measured still scans in the visit that reads, and its time is counted', async () => {
  const pool = new WorkerPool({ workers: 1 })
  const engine = await YaraScanner.open({ pool })
  const metrics = new Metrics({} as ConstructorParameters<typeof Metrics>[0])
  const asked = { scan: () => Promise.reject(new Error('a visit of its own')) }
  const scanner = measuredScanner(Object.assign(engine, asked), metrics)
  const validator = createValidator({ scanner, pool })
  try {
    const report = await validator.validate(submission('a.csv', sized(100_000, eicar), { scanForViruses: true }))
    expect(report.reason).toBe('virus_detected')
    expect((await metrics.scan.get()).values).toContainEqual(
      expect.objectContaining({ metricName: 'assay_scan_duration_seconds_count', value: 1 }),
    )
  } finally {
    await engine.close()
    await pool.close()
  }
})

/** Tells when a scan begins and whether it was given up. */
class WatchedScanner implements VirusScanner {
  begun = 0
  givenUp = 0
  identity: VirusScanner['identity'] = async () => ({
    name: 'Watched',
    version: '1',
    signaturesVersion: '1',
    signaturesDate: null,
  })
  async passesOver() {
    return []
  }

  async prove() {}
  async close() {}
  async scan(_: Content, { signal }: { signal: AbortSignal }): Promise<never> {
    this.begun++
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        this.givenUp++
        reject(signal.reason)
      })
    })
  }
}

describe('a scan beside the checks', () => {
  test.each([
    ['where the context does not scan', { scanForViruses: false }],
    ['of an extension that may not come', { allowedExtensions: ['pdf'] }],
    ['of what is too large', { maxFileSizeMb: 0.5 }],
  ])('is not begun %s', async (_, rules) => {
    const scanner = new WatchedScanner()
    const validator = createValidator({ scanner, workers: 1 })
    await validator.validate(submission('a.txt', sized(threshold, 'text'), { scanForViruses: true, ...rules }))
    await validator.close()
    expect(scanner.begun).toBe(0)
  })

  test('is given up as soon as another check has decided, however long the engine takes to say its name', async () => {
    const scanner = new WatchedScanner()
    let givenUpBefore = -1
    scanner.identity = async () => {
      givenUpBefore = scanner.givenUp
      throw scannerUnavailable('nobody there')
    }
    const validator = createValidator({ scanner, workers: 1 })
    const report = await validator.validate(submission('a.pdf', sized(threshold, 'no pdf'), { scanForViruses: true }))
    await validator.close()
    expect([report.reason, report.engine]).toEqual(['corrupt_file', null])
    expect([scanner.begun, scanner.givenUp, givenUpBefore]).toEqual([1, 1, 1])
  })

  test('ends with the client', async () => {
    const scanner = new WatchedScanner()
    const validator = createValidator({ scanner, workers: 1 })
    const client = new AbortController()
    const file = submission('a.txt', sized(threshold, 'text'), { scanForViruses: true }, client.signal)
    const judged = expect(validator.validate(file)).rejects.toThrow('gone')
    client.abort(new Error('gone'))
    await judged
    expect([scanner.begun, scanner.givenUp]).toEqual([1, 1])
    await validator.close()
  })

  test('of a client that has gone already is not begun', async () => {
    const scanner = new ScriptedScanner({ verdict: 'clean' })
    const validator = createValidator({ scanner, workers: 1 })
    const gone = AbortSignal.abort(new Error('gone'))
    const file = submission('a.txt', sized(threshold, 'text'), { scanForViruses: true }, gone)
    await expect(validator.validate(file)).rejects.toThrow('gone')
    await validator.close()
  })

  test('that is given up gives its connection to clamd back, and reads the file no more', async () => {
    const daemon = await startScriptedClamd({ mute: true })
    const scanner = new ClamdScanner([parseClamdUrl(daemon.url)], { connections: 1, proveReach: false })
    const validator = createValidator({ scanner, workers: 1 })
    let reading = 0
    const file = await inFile(sized(2 * threshold, 'no pdf'))
    const watched: Content = {
      ...file,
      stream: (range) => {
        reading++
        return file.stream(range).once('close', () => reading--)
      },
    }
    try {
      for (let count = 0; count < 3; count++) {
        const report = await validator.validate(submission('a.pdf', watched, { scanForViruses: true }))
        expect(report.reason).toBe('corrupt_file')
      }
      await file.remove()
      while (daemon.open > 0 || reading > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      // The one connection there is: it would be waited for in vain, were it not free.
      daemon.script.mute = false
      expect(await scanner.scan(inMemory(Buffer.from('text')), { signal: new AbortController().signal })).toEqual(clean)
    } finally {
      await validator.close()
      await scanner.close()
      await daemon.close()
    }
  })

  test('that nobody waits for harms nobody, however it fails', async () => {
    const script = fileURLToPath(new URL('../support/abandoned-scans.mjs', import.meta.url))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script])
    const lines = ['at once', 'with a throw', 'when aborted', 'long after it was aborted', 'never']
    expect([stdout, stderr]).toEqual([lines.map((how) => `${how}, corrupt_file, gone, overloaded\n`).join(''), ''])
  })
})
