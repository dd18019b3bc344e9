import { readdir, readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { Dashboard } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { getItems } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('GraphQL explorer in a browser', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant
  beforeAll(async () => {
    world = await World.open()
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    dashboard = await Dashboard.open(world)
  })
  // Fails for any request to another host and any violation of the content security policy.
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))
  afterAll(async () => {
    await dashboard.close()
    await world.close()
  })

  const isReady = async (page: Page): Promise<Page> => {
    await page.locator('.graphiql-query-editor .CodeMirror').waitFor()
    return page
  }
  /** Opens the explorer without a session. */
  const open = async (): Promise<Page> => {
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto('/graphql')
    return isReady(page)
  }
  const openSignedIn = async (): Promise<Page> => {
    const page = await dashboard.openSignedIn(tenant)
    await page.goto('/graphql')
    await page.getByText('Signed in as Ada Lovelace.').waitFor()
    return isReady(page)
  }

  const editors = { query: 'Query Editor', variables: 'Variables', headers: 'Headers' }
  /** Replaces the text in a visible editor. */
  const write = async (page: Page, editor: keyof typeof editors, text: string) => {
    await page.locator(`section[aria-label="${editors[editor]}"] .graphiql-editor:not(.hidden) .CodeMirror`).click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(text)
  }
  const authorize = (page: Page) => write(page, 'headers', JSON.stringify({ Authorization: `Bearer ${tenant.admin.credential}` }))
  const run = (page: Page) => page.getByRole('button', { name: /^Execute query/ }).click()
  const response = (page: Page, text: string) => page.locator('.graphiql-response').getByText(text).first().waitFor()

  test('sends a query with the API key from the Headers tab of the GraphQL explorer', async () => {
    await tenant.admin.upload('notes', 'shown.txt', 'text')
    const page = await open()
    await page.getByText('Not signed in.').waitFor()
    await authorize(page)
    await write(page, 'query', '{ files { data { originalFilename } } }')
    await run(page)
    await response(page, 'shown.txt')
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(tenant.admin.credential)
  })

  test("shows the service's error in the GraphQL explorer if a request has no credential", async () => {
    const page = await open()
    await write(page, 'query', '{ tenant { name } }')
    await run(page)
    await response(page, 'UNAUTHENTICATED')
  })

  test('sends GraphQL explorer queries with the dashboard session', async () => {
    const page = await openSignedIn()
    await write(page, 'query', '{ me { email } }')
    await run(page)
    await response(page, '@example.com')
  })

  test('shows schema documentation and completes names in the GraphQL explorer', async () => {
    const page = await openSignedIn()
    await write(page, 'query', '{ me { id } }')
    await run(page)
    await response(page, 'usr_')
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).click()
    await page.locator('.graphiql-doc-explorer').getByText('storageHealth').first().waitFor()
    await page.getByRole('button', { name: 'Show History' }).click()
    await page.locator('.graphiql-history-item').first().waitFor()
    await write(page, 'query', '{ storageH')
    await page.keyboard.press('Control+Space')
    await page.locator('.CodeMirror-hint').getByText('storageHealth').waitFor()
  })

  test('supports several tabs in the GraphQL explorer', async () => {
    const page = await openSignedIn()
    await page.getByRole('button', { name: 'Add tab' }).click()
    expect(await page.locator('.graphiql-tab').count()).toBe(2)
  })

  test('uploads a file as a variable in the GraphQL explorer', async () => {
    const page = await openSignedIn()
    await page.getByRole('button', { name: 'Show File variables' }).click()
    const file = { name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('chosen in the explorer') }
    await page.locator('.file-variables input[type=file]').setInputFiles(file)
    await write(
      page,
      'query',
      'mutation ($file: Upload!, $context: String!) { uploadFile(file: $file, context: $context) { originalFilename } }',
    )
    await page.getByRole('button', { name: 'Variables', exact: true }).click()
    await write(page, 'variables', '{ "context": "notes" }')
    await run(page)
    await response(page, 'chosen.txt')
    const stored = getItems(await tenant.admin.get('/files')).map(
      ({ original_filename }: { original_filename: string }) => original_filename,
    )
    expect(stored).toContain('chosen.txt')
  })

  test.each([
    ['the session of the dashboard', openSignedIn, async () => {}],
    ['an API key', open, authorize],
  ] as const)(
    'receives subscription events in the GraphQL explorer after authentication with %s',
    async (_credential, start, identify) => {
      const page = await start()
      await identify(page)
      await write(page, 'query', 'subscription { events { type } }')
      await run(page)
      await page.getByRole('button', { name: /^Stop query/ }).waitFor()
      const { last_sequence: before } = (await tenant.admin.get('/events')).body.data
      await tenant.createContext(`context_${before}`)
      await response(page, 'context.created')
    },
  )

  test('the GraphQL explorer links to the front page, the documentation and Apollo Sandbox', async () => {
    const page = await open()
    const links = await page.locator('header a').evaluateAll((all) => all.map((each) => each.getAttribute('href')))
    expect(links).toEqual(['./', 'docs', 'graphql?sandbox'])
  })

  test('loads at most 1.5 MB of compressed scripts and styles in the GraphQL explorer', async () => {
    const folder = new URL('../../dist/explorer/', import.meta.url)
    const files = (await readdir(folder)).map((name) => readFile(new URL(name, folder)))
    const sizes = (await Promise.all(files)).map((content) => gzipSync(content).length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_500_000)
  })
})
