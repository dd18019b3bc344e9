import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openBrowser, timeoutMs } from '../support/browser.js'
import { InstalledClient, runProgram, tools } from '../support/installed-client.js'
import { describeIf } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

const maxBundleBytes = 30_000

describeIf(existsSync(tools), 'the bundlers are not installed (npm ci --prefix test/clients)')('packed client library', () => {
  let world: World
  let tenant: TestTenant
  let installed: InstalledClient
  let browser: Browser
  let server: Server
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    await tenant.createContext('notes', { allowed_extensions: ['txt'], max_file_size_mb: 40, scan_for_viruses: false })
    installed = await InstalledClient.create()
    await installed.copy('sessions')
    browser = await openBrowser()
    server = await serve(installed.folder)
  }, 300_000)
  afterAll(async () => {
    await browser.close()
    server.closeAllConnections()
    server.close()
    await world.close()
    await installed.remove()
  })

  const node = (...args: string[]) => runProgram(process.execPath, args, { cwd: installed.folder })
  const next = () =>
    runProgram(installed.program('next'), ['build', 'sessions/next', '--webpack'], {
      cwd: installed.folder,
      env: { NEXT_TELEMETRY_DISABLED: '1', CI: undefined },
    })

  /** Uploads through links in Chromium with the client that the given page loads. */
  async function uploadInBrowser(path: string) {
    const urls: string[] = []
    for (let count = 0; count < 3; count++)
      urls.push((await tenant.admin.post('/upload-links', { context: 'notes' })).body.data.url as string)
    const page = await browser.newPage()
    page.setDefaultTimeout(timeoutMs)
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
    await page.waitForFunction(() => 'assay' in globalThis)
    // Throttles the upload because Chromium reports no progress for very fast uploads.
    const devTools = await page.context().newCDPSession(page)
    const network = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4_000_000 }
    await devTools.send('Network.emulateNetworkConditions', network)
    const outcome = await page.evaluate(uploadFiles, urls)
    await page.close()
    return outcome
  }

  const expected = {
    small: { name: 'small.txt', size: 8_000_000, lastSent: 8_000_000, isContinuous: true },
    large: { name: 'large.txt', size: 17_825_792, lastSent: 17_825_792, isContinuous: true },
    aborted: 'enough',
    rejected: { code: 'invalid_extension', allowed: ['txt'] },
    path: expect.stringContaining('Browsers cannot open paths'),
  }

  test.each(['esbuild', 'webpack', 'vite'])(
    'bundles the client library with %s and uploads a file with the bundle in Chromium',
    async (bundler) => {
      expect(await node('sessions/bundle.mjs', bundler)).toEqual({ status: 0, output: '' })
      const script = bundler === 'esbuild' ? '<script src="app.js">' : '<script type="module" src="app.js">'
      await writeFile(
        join(installed.folder, 'out', bundler, 'index.html'),
        `<!doctype html><title>Upload</title>${script}</script>`,
      )
      expect(await uploadInBrowser(`/out/${bundler}/index.html`)).toEqual(expected)
    },
  )

  test('bundles the client library with Next.js and uploads a file with the bundle in Chromium', async () => {
    const { status, output } = await next()
    expect([status, output]).toEqual([0, expect.not.stringMatching(/warn|⚠|error/i)])
    expect(await uploadInBrowser('/sessions/next/out/index.html')).toEqual(expected)
  }, 600_000)

  test('limits a compressed bundle of uploadTo and tus to 30 KB', async () => {
    await writeFile(
      join(installed.folder, 'small.mjs'),
      "import { uploadTo } from '@assay/client'\nglobalThis.uploadTo = uploadTo\n",
    )
    const args = ['small.mjs', '--bundle', '--minify', '--format=esm', '--outfile=small.js', '--log-level=warning']
    expect(await runProgram(installed.program('esbuild'), args, { cwd: installed.folder })).toEqual({ status: 0, output: '' })
    expect(gzipSync(await readFile(join(installed.folder, 'small.js'))).length).toBeLessThan(maxBundleBytes)
  })

  test('provides client library types for every module resolution mode from node10 to bundler', async () => {
    const program = `import { createClient, isAssayError, type Schemas, uploadTo } from '@assay/client'
const client = createClient({ baseUrl: 'https://files.example.com', apiKey: 'key' })
export const first = async (): Promise<Schemas['Webhook'] | undefined> => (await client.webhooks.list()).data[0]
export const send = (file: File): Promise<Schemas['File']> => uploadTo('https://files.example.com/upload/x', file)
export const allowed = (error: unknown): string[] | undefined =>
  isAssayError(error, 'invalid_extension') ? error.details.allowed : undefined
`
    await writeFile(join(installed.folder, 'module.mts'), program)
    await writeFile(join(installed.folder, 'common.cts'), program)
    const strict = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable', '--typeRoots', './none']
    const resolutions: [string, string, string[]][] = [
      ['commonjs', 'node10', ['module.mts']],
      ['node16', 'node16', ['module.mts', 'common.cts']],
      ['nodenext', 'nodenext', ['module.mts', 'common.cts']],
      ['esnext', 'bundler', ['module.mts']],
    ]
    for (const [module, moduleResolution, files] of resolutions) {
      const args = [...strict, '--module', module, '--moduleResolution', moduleResolution, ...files]
      expect([moduleResolution, await runProgram(installed.program('tsc'), args, { cwd: installed.folder })]).toEqual([
        moduleResolution,
        { status: 0, output: '' },
      ])
    }
    const attw = await runProgram(installed.program('attw'), [installed.archive, '--format', 'ascii'], { cwd: installed.folder })
    expect(attw).toEqual({ status: 0, output: expect.stringContaining('No problems found') })
  }, 600_000)
})

async function serve(folder: string): Promise<Server> {
  const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }
  const server = createServer((request, response) => {
    // Next.js refers to its files by absolute paths.
    const path = request.url!.split('?')[0]!.replace(/^\/_next\//, '/sessions/next/out/_next/')
    readFile(join(folder, path)).then(
      (content) => response.writeHead(200, { 'content-type': types[path.split('.').at(-1)!] ?? 'text/plain' }).end(content),
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return server
}

/** Runs in the browser page. */
async function uploadFiles([smallUrl, largeUrl, otherUrl]: string[]) {
  const { uploadTo } = (globalThis as unknown as { assay: typeof import('@assay/client') }).assay
  const upload = async (url: string, name: string, size: number) => {
    const steps: number[] = []
    const content = new File([new Uint8Array(size).fill(120)], name)
    const file = await uploadTo(url, content, { onProgress: ({ sent }) => steps.push(sent) })
    const isContinuous =
      steps.some((sent) => sent > 0 && sent < size) && steps.every((sent, index) => index === 0 || sent >= steps[index - 1]!)
    return { name: file.original_filename, size: file.size_bytes, lastSent: steps.at(-1), isContinuous }
  }
  const failure = (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: unknown) => error as { message: string; code: string; details: { allowed: string[] } },
    )
  const abort = new AbortController()
  const large = new File([new Uint8Array(8_000_000).fill(120)], 'a.txt')
  const options = { signal: abort.signal, onProgress: () => abort.abort(new Error('enough')) }
  const { code, details } = (await failure(uploadTo(otherUrl!, new File(['x'], 'a.exe'))))!
  return {
    small: await upload(smallUrl!, 'small.txt', 8_000_000),
    large: await upload(largeUrl!, 'large.txt', 17 * 1_048_576),
    aborted: (await failure(uploadTo(otherUrl!, large, options)))?.message,
    rejected: { code, allowed: details.allowed },
    path: (await failure(uploadTo(otherUrl!, 'report.txt')))?.message,
  }
}
