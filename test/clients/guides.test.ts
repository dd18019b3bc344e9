import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { transform } from '@swc/core'
import { openBrowser, openPage } from '../support/browser.js'
import { openIdentityProvider } from '../support/identity-provider.js'
import { describeWith, getProgramPath } from '../support/installed-programs.js'
import { findFreePort } from '../support/service.js'
import { type TestTenant, World } from '../support/world.js'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'assay-guides-'))
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('invoices', { allowed_extensions: ['csv', 'jpg'] })
  env = { PATH: process.env.PATH, ASSAY_URL: world.url, ASSAY_KEY: tenant.admin.credential! }
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

function listCodeBlocks(title: string): string[] {
  const page = readFileSync(new URL('../../docs/guides.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf(`\n## ${title}`)).split('\n## ')[1]!
  return [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
}

describeWith('python3')('guide for Python', () => {
  test("the guide's Python program prints the documented output", async () => {
    const [program, shown] = listCodeBlocks('From Python')
    const { stdout } = await run(getProgramPath('python3'), ['-c', program!], { env })
    expect(stdout).toBe(shown)
  })
})

test("forwards a form through the guide's Next.js route and returns the service's response", async () => {
  const [route] = listCodeBlocks('From a Next.js route')
  const { code } = await transform(route!, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } })
  writeFileSync(join(folder, 'route.mjs'), code)
  const caller = `
    import { POST } from './route.mjs'
    const form = new FormData()
    form.append('context', 'another')
    form.append('file', new Blob(['id,amount\\n2,7.00\\n']), 'second.csv')
    const answer = await POST(new Request('http://localhost/api/upload', { method: 'POST', body: form }))
    console.log(JSON.stringify([answer.status, await answer.json()]))`
  writeFileSync(join(folder, 'caller.mjs'), caller)
  const { stdout } = await run(process.execPath, [join(folder, 'caller.mjs')], { env })
  expect(JSON.parse(stdout)).toEqual([
    201,
    expect.objectContaining({ data: expect.objectContaining({ original_filename: 'second.csv', context_key: 'invoices' }) }),
  ])
})

describeWith('go')('guide for Go', () => {
  test("the guide's Go program prints the documented output", async () => {
    const [program, shown] = listCodeBlocks('From Go')
    writeFileSync(join(folder, 'main.go'), program!)
    const cache = { HOME: folder, GOCACHE: join(folder, 'go-cache'), GOFLAGS: '-mod=mod', CGO_ENABLED: '0' }
    const { stdout } = await run(getProgramPath('go'), ['run', join(folder, 'main.go')], {
      env: { ...env, ...cache },
      cwd: folder,
    })
    expect(stdout).toBe(shown)
  })
})

describeWith('chromium')('guide for a browser form', () => {
  let backEnd: ChildProcess
  let url: string
  beforeAll(async () => {
    const [program] = listCodeBlocks('From a browser form')
    const key = await tenant.createKey(['upload', 'download'], { contexts: ['invoices'] })
    const port = await findFreePort()
    url = `http://127.0.0.1:${port}`
    writeFileSync(join(folder, 'form.mjs'), `${program}\nconsole.log('up')`)
    backEnd = spawn(process.execPath, [join(folder, 'form.mjs')], { env: { ...env, ASSAY_KEY: key.credential, PORT: port } })
    await once(backEnd.stdout!, 'data')
  })
  afterAll(() => void backEnd?.kill())

  test("streams a form through the guide's back end and returns a link to the stored file", async () => {
    const browser = await openBrowser()
    try {
      const { page, pageErrors } = await openPage(browser, url)
      const send = async (name: string, content: string) => {
        await page.goto(url)
        await page.setInputFiles('input[type=file]', { name, mimeType: 'text/csv', buffer: Buffer.from(content) })
        await Promise.all([page.waitForNavigation(), page.click('button')])
      }
      await send('a <b> & c.csv', 'id,amount\n3,9.00\n')
      expect(await page.textContent('p')).toBe('Stored: a <b> & c.csv')
      const link = (await page.getAttribute('a', 'href'))!
      expect(await (await fetch(link)).text()).toBe('id,amount\n3,9.00\n')
      expect(pageErrors).toEqual([])
      await send('a.exe', 'x')
      expect(await page.textContent('p')).toMatch(/^Rejected: Extension 'exe' is not allowed/)
    } finally {
      await browser.close()
    }
  })
})

test('the settings, claims and program in the guide to external identity providers work as documented', async () => {
  const provider = await openIdentityProvider()
  const [settings, program, shown] = listCodeBlocks('Behind your own sign-in')
  const settingsOfGuide = Object.fromEntries([...settings!.matchAll(/(JWT_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))
  expect(Object.keys(settingsOfGuide).sort()).toEqual(Object.keys(provider.env).sort())
  expect(settingsOfGuide).toMatchObject({ JWT_ISSUER: provider.issuer, JWT_AUDIENCE: provider.audience })
  const service = await World.open(provider.env, world)
  try {
    const token = await provider.sign({ tenant_id: tenant.tenantId, scope: 'openid upload metadata' })
    writeFileSync(join(folder, 'signed-in.mjs'), program!)
    const { stdout } = await run(process.execPath, [join(folder, 'signed-in.mjs')], {
      env: { PATH: process.env.PATH, ASSAY_URL: service.url, USER_TOKEN: token },
    })
    expect(stdout).toBe(shown)
  } finally {
    await service.close()
    await provider.close()
  }
})

describeWith('curl')('guide for resumable uploads', () => {
  test('uploads a file and resumes the upload with the commands in the curl guide', async () => {
    const page = readFileSync(new URL('../../docs/resumable.md', import.meta.url), 'utf8')
    const [, script] = /^```sh\n([\s\S]*?)^```$/m.exec(page)!
    writeFileSync(join(folder, 'invoice.csv'), 'id,amount\n1,9.50\n')
    const { stdout } = await run('sh', ['-euc', script!], { env, cwd: folder })
    expect(stdout).toMatch(/^HTTP\/1\.1 204 [\s\S]*^assay-file-id: file_/im)
  })
})
