import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from '@jest/globals'
import { noise } from '../../packages/formats/test/support/samples/archive.js'
import { type EngineKind, hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { type YaraOptions, YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { clean, createMemoryContent, createZip, eicar } from '../support/eicar.js'
import { describeIf } from '../support/installed-programs.js'

const never = () => ({ signal: new AbortController().signal })
const text = Buffer.from('Nothing to be seen here.\n')
// The archive is too large to be scanned without a worker.
const archive = createZip({ name: 'a', bytes: text }, { name: 'b', bytes: noise(20_000) })
const unavailable = { code: 'scanner_unavailable' }

const opened: YaraScanner[] = []
afterEach(async () => {
  for (const scanner of opened.splice(0)) await scanner.close()
})

async function open(options: YaraOptions = {}): Promise<YaraScanner> {
  const scanner = await YaraScanner.open({ workers: 1, ...options })
  opened.push(scanner)
  return scanner
}

const script = (source: string) => new URL(`data:text/javascript,${encodeURIComponent(source)}`)
const ready = "export const describeEngine = () => ({ version: '0.0', rules: 0 });"
/** Returns the running scan processes below `parent`, excluding zombies. */
async function listProcesses(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='])
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, stat = 'Z'] = line.trim().split(/\s+/)
    return Number(ppid) === parent && !stat.startsWith('Z') && line.includes('process-program') ? [Number(pid)] : []
  })
}

async function waitForNoProcess(): Promise<void> {
  while ((await listProcesses(process.pid)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
}

describe('YARA workers', () => {
  test('retries a YARA scan only once if its worker crashes', async () => {
    const scanner = await open({ module: script(`${ready} export const scan = () => process.exit(3)`) })
    await expect(scanner.scan(createMemoryContent(archive), never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('twice'),
    })
    await expect(scanner.scan(createMemoryContent(archive), never())).rejects.toMatchObject(unavailable)
  })

  test('ends a YARA worker that exceeds its deadline', async () => {
    const scanner = await open({
      module: script(`${ready} export const scan = () => { for (;;); }`),
      deadlineOf: () => 100,
    })
    await expect(scanner.scan(createMemoryContent(archive), never())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('100 ms'),
    })
  })

  test('does not open the scanner if the YARA worker cannot start', async () => {
    await expect(YaraScanner.open({ module: script("throw new Error('no memory left')") })).rejects.toThrow('no memory left')
  })

  test('ends an idle YARA worker and starts it again when needed', async () => {
    const scanner = await open({ idleMs: 30 })
    for (let count = 0; count < 2; count++) {
      expect(await scanner.scan(createMemoryContent(archive), never())).toEqual(clean)
      await new Promise((resolve) => setTimeout(resolve, 120))
    }
  })

  test('rejects a YARA scan if too many scans are waiting', async () => {
    const scanner = await open({ maxWaiting: 2 })
    const scans = Array.from({ length: 5 }, () => scanner.scan(createMemoryContent(archive), never()))
    const settled = await Promise.allSettled(scans)
    const rejected = settled.filter((each) => each.status === 'rejected').map(({ reason }) => reason.code)
    expect(rejected).toEqual(['overloaded', 'overloaded'])
  })

  test('releases the worker of an aborted YARA scan long before the scan would end', async () => {
    const scanner = await open({ kind: 'wasm' })
    const controller = new AbortController()
    const slow = createZip(...Array.from({ length: 15_000 }, (_, index) => ({ name: `${index}`, bytes: text, stored: true })))
    const aborted = scanner.scan(createMemoryContent(slow), { signal: controller.signal })
    const next = scanner.scan(createMemoryContent(archive), never())
    setTimeout(() => controller.abort(new Error('gone')), 50)
    await expect(aborted).rejects.toThrow('gone')
    // 15,000 members would take the WebAssembly engine a minute, longer than the test timeout.
    expect(await next).toEqual(clean)
  })

  test('limits the number of YARA threads that cannot be stopped, and recovers after they end', async () => {
    const scanner = await open({
      // Native code that cannot be interrupted runs for a limited time.
      module: script(
        `import { spawnSync } from 'node:child_process'; ${ready} export const scan = () => spawnSync('sleep', ['8'])`,
      ),
      deadlineOf: () => 100,
    })
    const getScanError = () => scanner.scan(createMemoryContent(archive), never()).catch((error) => error)
    expect(await getScanError()).toMatchObject({ message: expect.stringContaining('100 ms') })
    // A thread that has not reached native code ends immediately and is replaced.
    for (const words of ['1 workers do not respond and cannot be terminated', '100 ms'])
      for (let message = ''; !message.includes(words); ) {
        // Rejections are immediate, so the loop needs a pause.
        await new Promise((resolve) => setTimeout(resolve, 50))
        const error = await getScanError()
        expect(error).toMatchObject(unavailable)
        ;({ message } = error)
      }
  })
})

// An endless loop for YARA-X with 10^19 iterations.
const endless =
  'rule endless { strings: $a = "SLOW" condition: $a and for all i in (0..4000000000) : (for all j in (0..4000000000) : (i + j >= 0)) }'
const operators = { sources: [{ origin: 'endless.yar', text: endless }], changedAt: null }
const slow = createMemoryContent('this is SLOW')

describe.each<EngineKind>(hasNativeEngine() ? ['native', 'wasm'] : ['wasm'])('endless YARA rule, %s engine', (kind) => {
  test('fails only the scans of files on which a YARA rule runs endlessly', async () => {
    const scanner = await open({ kind, operators, deadlineOf: (size) => (size === slow.size ? 2_000 : 60_000) })
    for (let count = 0; count < 2; count++) {
      const hanging = expect(scanner.scan(slow, never())).rejects.toMatchObject({
        ...unavailable,
        message: expect.stringContaining('2000 ms'),
      })
      const others = [createMemoryContent(text), createMemoryContent(eicar)].map((content) => scanner.scan(content, never()))
      await hanging
      expect(await Promise.all(others)).toMatchObject([clean, { verdict: 'infected' }])
    }
    expect((await listProcesses(process.pid)).length).toBeLessThanOrEqual(2)
    await scanner.close()
    await waitForNoProcess()
  })

  test('ends a YARA worker long before the deadline if its client disconnects', async () => {
    const scanner = await open({ kind, operators })
    const controller = new AbortController()
    const disconnected = expect(scanner.scan(slow, { signal: controller.signal })).rejects.toThrow('gone')
    setTimeout(() => controller.abort(new Error('gone')), 300)
    await disconnected
    expect(await scanner.scan(createMemoryContent(text), never())).toEqual(clean)
  })

  test('closes the scanner despite an endless YARA rule', async () => {
    const scanner = await open({ kind, operators })
    const hanging = expect(scanner.scan(slow, never())).rejects.toMatchObject(unavailable)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await scanner.close()
    await hanging
    await waitForNoProcess()
  })
})

describeIf(hasNativeEngine(), 'the native YARA-X does not load on this platform')('YARA process of a killed service', () => {
  test('ends the YARA process if the service is killed with SIGKILL', async () => {
    const service = spawn(process.execPath, [fileURLToPath(new URL('../support/endless-scan.mjs', import.meta.url)), endless], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(service.stdout, 'data')
    const children = await listProcesses(service.pid!)
    expect(children).toHaveLength(1)
    service.kill('SIGKILL')
    while (await isRunning(children[0]!)) await new Promise((resolve) => setTimeout(resolve, 50))
  })
})

/** Returns whether a process runs and is not a zombie. */
async function isRunning(pid: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z')
}
