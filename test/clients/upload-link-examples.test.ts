import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../support/browser.js'
import { Visitor } from '../support/customer-page.js'
import { findFreePort } from '../support/free-port.js'
import { describeWith } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
// Copied examples use the packages installed for the tests. Git ignores them.
const copies = join(root, 'test/clients/.examples-')

describeWith('chromium')('upload link examples', () => {
  let world: World
  let tenant: TestTenant
  let browser: Browser
  let folder: string
  let env: Record<string, string>
  let server: ChildProcess | undefined
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    await tenant.createContext('photos')
    browser = await openBrowser()
    folder = mkdtempSync(copies)
    cpSync(join(root, 'examples/upload-links'), folder, { recursive: true })
    const { credential } = await tenant.createKey(['upload'])
    env = { PATH: process.env.PATH!, HOME: tmpdir(), ASSAY_URL: world.url, ASSAY_KEY: credential!, NEXT_TELEMETRY_DISABLED: '1' }
  })
  afterEach(async () => {
    if (!server) return
    server.kill()
    await once(server, 'close')
    server = undefined
  })
  afterAll(async () => {
    await browser?.close()
    await world.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts a server and returns the first URL that it prints. */
  async function start(args: string[], cwd = folder): Promise<string> {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...env, PORT: await findFreePort() },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    server = child
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const ended = once(child, 'close').then(() => Promise.reject(new Error(`The server exited: ${output}`)))
    ended.catch(() => {})
    while (!/http:\/\/[\w.]+:\d+/.test(output)) await Promise.race([ended, once(child.stdout, 'data')])
    return /http:\/\/[\w.]+:\d+/.exec(output)![0]
  }

  /** Uploads a file on the page and checks that the service stores it. */
  async function uploadOn(url: string, name: string, prepare = async (_visitor: Visitor) => {}): Promise<void> {
    const visitor = await Visitor.open(browser)
    await visitor.page.goto(url)
    await prepare(visitor)
    await visitor.choose({ name, content: `content of ${name}` })
    await visitor.file(name).getByText('Content: checked and accepted.').waitFor()
    if (await visitor.page.locator('output').count()) await visitor.page.locator('output', { hasText: name }).waitFor()
    expect(visitor.problems).toEqual([])
    await visitor.close()
    const { data } = (await tenant.admin.get(`/files?name_prefix=${name}`)).body.data
    expect(data).toMatchObject([{ original_filename: name }])
  }

  test('uploads a file with the example page in docs/upload-links.md', async () => {
    const page = readFileSync(join(root, 'docs/upload-links.md'), 'utf8')
    const program = /```js\n(\/\/ page\.mjs[\s\S]*?)```/.exec(page)![1]!
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    writeFileSync(join(folder, 'page.mjs'), program)
    await uploadOn(await start(['page.mjs']), 'from-the-docs.txt')
  })

  test('uploads a file from a plain HTML page to the Express example', async () => {
    await uploadOn(await start(['express/server.mjs']), 'from-express.txt')
  })

  test('uploads a file from a plain HTML page to the Fastify example', async () => {
    await uploadOn(await start(['fastify/server.mjs']), 'from-fastify.txt')
  })

  test('uploads a file with the React example and adds it to the list on the page', async () => {
    const bundle = await build({
      entryPoints: [join(folder, 'react/main.jsx')],
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      write: false,
      logLevel: 'silent',
    })
    writeFileSync(join(folder, 'html/react.js'), bundle.outputFiles[0]!.contents)
    writeFileSync(
      join(folder, 'html/react.html'),
      '<!doctype html><div id="root"></div><script type="module" src="react.js"></script>',
    )
    await uploadOn(`${await start(['express/server.mjs'])}/react.html`, 'from-react.txt')
  })

  test('creates an upload link in a server action of the Next.js example', async () => {
    const app = join(folder, 'next')
    const next = join(root, 'test/clients/node_modules/next/dist/bin/next')
    const production = { ...env, NODE_ENV: 'production' }
    await promisify(execFile)(process.execPath, [next, 'build', '--webpack'], { cwd: app, env: production })
    const url = await start([next, 'start', '--hostname', '127.0.0.1'], app)
    await uploadOn(url, 'from-next.txt', async ({ page }) => page.getByRole('button', { name: 'Add photos' }).click())
  }, 600_000)
})
