import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { tiff } from '../../packages/formats/test/support/samples/image.js'
import { createInspector, type InspectorOptions } from '../../src/inspection/engine/inspect.js'
import type { ValidationReport } from '../../src/inspection/report.js'
import { openSandbox } from '../../src/inspection/workers/sandbox.js'
import { createSubmission, ScriptedScanner, storeOnDisk } from '../support/validation.js'

// Image processes run the real compiled engine with a decoder module that misbehaves on request.
const decoderModule = pathToFileURL('test/support/hostile-decoder.mjs').href
const open: ReturnType<typeof createInspector>[] = []
let folder = ''
let complete: Buffer

const start = (options: Partial<InspectorOptions> = {}) => {
  const scanner = new ScriptedScanner({ verdict: 'clean' })
  const inspector = createInspector({ scanner, decoderModule, workers: 2, deadlineMs: 20_000, graceMs: 200, ...options })
  open.push(inspector)
  return inspector
}

/** Creates a valid TIFF followed by the name of the failure that the decoder simulates. */
const image = (deed = 'nothing') => createSubmission('a.tif', Buffer.concat([complete, Buffer.from(`do:${deed}`)]))

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const untilGone = async (pids: number[]) => {
  while (pids.some(isAlive)) await pause(20)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-images-'))
  complete = await tiff('none')
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((inspector) => inspector.close()))
})
afterAll(() => rm(folder, { recursive: true }))

const expectWorkerFailure = (report: ValidationReport, worker: string) => {
  expect(report).toMatchObject({ outcome: 'rejected', reason: 'corrupt_file' })
  expect(report.checks[3]).toMatchObject({
    check: 'corrupt_file',
    outcome: 'failed',
    evidence: { worker, attempts: 2 },
    message: expect.stringContaining('two workers'),
  })
}

describe('native crashes during image decoding', () => {
  test.each([
    ['crash', 'died'],
    ['spin', 'hung'],
    // Process memory can be read only on Linux. Elsewhere, the deadline ends the process.
    ['hoard', process.platform === 'linux' ? 'out_of_memory' : 'hung'],
  ])('rejects an image after two attempts if its decoder fails (%s: %s)', async (deed, worker) => {
    const inspector = start({ processMemoryMb: 300, ...(worker === 'hung' && { deadlineMs: 6000 }) })
    const bad = inspector.inspect(image(deed))
    const good = await Promise.all(Array.from({ length: 6 }, () => inspector.inspect(image())))
    expect(good.map(({ outcome }) => outcome)).toEqual(Array(6).fill('accepted'))
    expectWorkerFailure(await bad, worker)
    expect(await inspector.inspect(image())).toMatchObject({ outcome: 'accepted' })
    expect(inspector.pool.threads.size).toBeLessThanOrEqual(2)
  })

  test('decodes an image in a new process if the decoder crashes once', async () => {
    expect(await start().inspect(image(`crashonce ${join(folder, 'mark')}`))).toMatchObject({ outcome: 'accepted' })
  })

  test('replaces an idle image process that was killed', async () => {
    const inspector = start({ workers: 1 })
    await inspector.inspect(image())
    const before = inspector.pool.processes.pids
    expect(before).toHaveLength(1)
    process.kill(before[0]!, 'SIGKILL')
    await untilGone(before)
    expect(await inspector.inspect(image())).toMatchObject({ outcome: 'accepted' })
    expect(inspector.pool.processes.pids).not.toEqual(before)
  })

  const killedAtStart = async (name: string, condition: string) => {
    const path = join(folder, name)
    const mark = join(folder, `${name}.mark`)
    const lines = [
      `import { existsSync, writeFileSync } from 'node:fs'`,
      `if (${condition} || !existsSync('${mark}')) { writeFileSync('${mark}', ''); process.kill(process.pid, 'SIGKILL') }`,
      `export { decodeImage } from '${decoderModule}'`,
    ]
    await writeFile(path, lines.join('\n'))
    return pathToFileURL(path).href
  }

  test('replaces an image process killed during startup and validates the image', async () => {
    const inspector = start({ decoderModule: await killedAtStart('once.mjs', 'false') })
    expect(await inspector.inspect(image())).toMatchObject({ outcome: 'accepted' })
  })

  test('returns a retryable error if image processes are repeatedly killed during startup', async () => {
    const inspector = start({ decoderModule: await killedAtStart('always.mjs', 'true') })
    await expect(inspector.inspect(image())).rejects.toMatchObject({ code: 'overloaded' })
  })

  test('replaces an image process that is being killed when a request arrives', async () => {
    const inspector = start({ workers: 1 })
    await inspector.inspect(image())
    for (const pid of inspector.pool.processes.pids) process.kill(pid, 'SIGKILL')
    expect(await inspector.inspect(image())).toMatchObject({ outcome: 'accepted' })
  })

  test('returns an error instead of a verdict if no image process can be started', async () => {
    const inspector = start({ decoderModule: pathToFileURL(join(folder, 'missing.mjs')).href })
    const expectedError = { code: 'overloaded', cause: expect.stringContaining('the worker process exited with') }
    await expect(inspector.inspect(image())).rejects.toMatchObject(expectedError)
    expect(await inspector.inspect(createSubmission('a.txt', Buffer.from('words\n')))).toMatchObject({ outcome: 'accepted' })
  })
})

describe('image process life cycle and isolation', () => {
  test('starts at most one image process per worker when the first image arrives', async () => {
    const inspector = start()
    await inspector.inspect(createSubmission('a.txt', Buffer.from('words\n')))
    expect(inspector.pool.processes.pids).toEqual([])
    const observed = new Set<number>()
    const inspected = Array.from({ length: 12 }, () =>
      inspector.inspect(image()).then(({ outcome }) => {
        for (const pid of inspector.pool.processes.pids) observed.add(pid)
        return outcome
      }),
    )
    expect(await Promise.all(inspected)).toEqual(Array(12).fill('accepted'))
    expect(observed.size).toBeGreaterThan(0)
    expect(observed.size).toBeLessThanOrEqual(2)
  })

  const onLinux = process.platform === 'linux' ? test : test.skip
  onLinux('if two images together exceed the memory limit, one of them is retried separately', async () => {
    const inspector = start({ processMemoryMb: 600 })
    const held = image(`hold 350 ${await mkdtemp(join(folder, 'meeting-'))}`)
    const alive: number[] = []
    const timer = setInterval(() => alive.push(inspector.pool.processes.pids.length), 5)
    const reports = await Promise.all([inspector.inspect(held), inspector.inspect(held)])
    clearInterval(timer)
    expect(reports.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
    // One of the two image processes exceeded the limit and was terminated.
    expect(alive.slice(alive.indexOf(2))).toContain(1)
  })

  test('stops idle image processes and starts them again when needed', async () => {
    const inspector = start({ idleMs: 50 })
    await inspector.inspect(image())
    const pids = inspector.pool.processes.pids
    await untilGone(pids)
    while (inspector.pool.threads.size > 0) await pause(20)
    expect(inspector.pool.processes.pids).toEqual([])
    expect(await inspector.inspect(image())).toMatchObject({ outcome: 'accepted' })
  })

  test('ends every image process when the pool is closed, even during decoding', async () => {
    const inspector = start()
    const rejected = expect(inspector.inspect(image('spin'))).rejects.toMatchObject({ code: 'overloaded' })
    while (inspector.pool.processes.pids.length === 0) await pause(5)
    const pids = inspector.pool.processes.pids
    await inspector.close()
    await rejected
    expect(pids.filter(isAlive)).toEqual([])
  })

  test('ends image processes if the service is killed with SIGKILL', async () => {
    const path = join(folder, 'endless.tif')
    await writeFile(path, Buffer.concat([complete, Buffer.from('do:spin')]))
    const service = spawn(process.execPath, ['test/support/endless-decode.mjs', path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(service.stdout, 'data')
    const { pid } = JSON.parse(String(line))
    expect(isAlive(pid)).toBe(true)
    service.kill('SIGKILL')
    await untilGone([pid])
    expect(isAlive(pid)).toBe(false)
  })

  test("hides the service's secrets and Node.js options from image processes", async () => {
    process.env.ASSAY_TEST_SECRET = 'do not tell'
    const report = await start().inspect(image('tell'))
    delete process.env.ASSAY_TEST_SECRET
    const environment = JSON.parse(report.checks[3]!.message.match(/\{.*\}/)![0])
    expect(environment.env.filter((name: string) => !/^(TMPDIR$|VIPS|UV_|MALLOC_|NODE_CHANNEL_|__)/.test(name))).toEqual([])
    expect(environment.options.filter((option: string) => !/^--(max-|no-warnings)/.test(option))).toEqual([])
  })

  const spy = `
    import { readdir, readFile, writeFile } from 'node:fs/promises'
    import { connect } from 'node:net'
    const tried = (deed) => deed.then(() => 'done', ({ code }) => code)
    const reached = (port) => new Promise((resolve, reject) => connect(port, '127.0.0.1', resolve).on('error', reject))
    export async function decodeImage(image) {
      const [path, port] = image.subarray(-300).toString('latin1').split('do:').at(-1).split(' ')
      const deeds = [readFile(path), readdir(process.env.HOME ?? '/root'), readFile('/proc/1/environ'), reached(Number(port)), writeFile(new URL('mark', import.meta.url), '')]
      return { outcome: 'refused', message: (await Promise.all(deeds.map(tried))).join(' ') }
    }`

  /** Lists the resources that a compromised decoder can access: files, home, secrets, network, contents. */
  const inspectWith = async (options: Partial<InspectorOptions>) => {
    await writeFile(join(folder, 'spy.mjs'), spy)
    const secret = join(await mkdtemp(join(tmpdir(), 'assay-secret-')), 'master.key')
    await writeFile(secret, 'secret')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const spying = start({ ...options, decoderModule: pathToFileURL(join(folder, 'spy.mjs')).href })
    const report = await spying.inspect(image(`${secret} ${port}`)).finally(() => server.close())
    await rm(dirname(secret), { recursive: true })
    return report.checks[3]!.message
  }

  test('prevents sandboxed image processes from accessing files, the network or other processes', async () => {
    expect(await inspectWith({})).toMatch(/: done .* done done\.$/)
    // The service reports at startup if the kernel supports no sandbox.
    const sandbox = await openSandbox(folder).catch(() => undefined)
    if (!sandbox) return
    expect(await inspectWith({ sandbox: Promise.resolve(sandbox) })).toContain('ENOENT ENOENT ENOENT ENETUNREACH EROFS')
    const real = start({ decoderModule: undefined, sandbox: openSandbox(folder) })
    const large = await storeOnDisk(join(folder, 'large.tif'), Buffer.concat([complete, Buffer.alloc(400_000, 1)]))
    expect(await real.inspect(createSubmission('a.tif', large))).toMatchObject({ outcome: 'accepted' })
    expect(await real.inspect(createSubmission('a.tif', complete))).toMatchObject({ outcome: 'accepted' })
  })

  test('deletes only the sandbox folders of killed services on the same host', async () => {
    const own = await openSandbox(folder).catch(() => undefined)
    if (!own) return
    const boxes = () => readdirSync(tmpdir()).filter((name) => name.startsWith('assay-box-'))
    const [host] = /[0-9a-f]{8}/.exec(boxes().find((name) => name.includes(`-${process.pid}-`))!)!
    const dead = execFileSync(process.execPath, ['-e', 'console.log(process.pid)']).toString().trim()
    const created = [`${host}-${dead}-abc-1`, `${host}-${process.ppid}-abc-1`, `00000000-${dead}-abc-1`, `${dead}-mine`].map(
      (name) => `assay-box-${name}`,
    )
    for (const name of created) await mkdir(join(tmpdir(), name, 'tmp'), { recursive: true })
    await symlink(folder, join(tmpdir(), `assay-box-${host}-${dead}-abc-2`))
    const next = await openSandbox(folder)
    const remaining = boxes()
    for (const name of [...created, `assay-box-${host}-${dead}-abc-2`])
      await rm(join(tmpdir(), name), { recursive: true, force: true })
    expect(created.map((name) => remaining.includes(name))).toEqual([false, true, true, true])
    expect(remaining).toContain(`assay-box-${host}-${dead}-abc-2`)
    expect(remaining.filter((name) => name.includes(`-${process.pid}-`)).length).toBeGreaterThanOrEqual(2)
    own.close()
    next.close()
  })

  test('discards all output of an image process without blocking the process', async () => {
    expect(await start().inspect(image('shout'))).toMatchObject({ outcome: 'accepted' })
  })

  test('image processes read large images from disk', async () => {
    const inspector = start()
    for (const name of ['large.tif', 'large.tif[page=3]']) {
      const content = await storeOnDisk(join(folder, name), Buffer.concat([complete, Buffer.alloc(400_000, 1)]))
      expect(await inspector.inspect(createSubmission('a.tif', content))).toMatchObject({ outcome: 'accepted' })
    }
  })
})
