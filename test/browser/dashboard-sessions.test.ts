import { EventEmitter, once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { Dashboard, selectFiles } from '../support/dashboard.js'
import { describeWith } from '../support/installed-programs.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('dashboard sessions and permissions', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    await tenant.admin.upload('notes', 'kept.txt', 'kept')
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const views = (page: Page) => page.locator('nav[aria-label=Main] a').allTextContents()

  // Collects a page's requests that the service rejects because of a missing scope.
  const collectRejections = (page: Page) => {
    const codes: string[] = []
    page.on('response', async (response) => {
      if (response.url().endsWith('/graphql') && (await response.text().catch(() => '')).includes('FORBIDDEN'))
        codes.push(page.url())
      if (response.status() === 403) codes.push(response.url())
    })
    return codes
  }

  test.each([
    [['metadata'], ['Overview', 'Files', 'Contexts', 'Calls', 'Health', 'Receipts and log']],
    [['upload'], ['Files', 'Validate file', 'Contexts', 'Upload links', 'Health']],
    [
      ['download', 'metadata'],
      ['Overview', 'Files', 'Contexts', 'Calls', 'Health', 'Receipts and log'],
    ],
    [['delete'], ['Contexts', 'Trash', 'Health']],
    [
      ['admin'],
      [
        ...['Overview', 'Files', 'Validate file', 'Contexts', 'Trash', 'API keys', 'Upload links', 'Users'],
        ...['Calls', 'Quarantine', 'Webhooks', 'Health', 'Receipts and log', 'Audit log'],
      ],
    ],
  ] as const)('shows only the permitted pages to a user with the scopes %j', async (scopes, expected) => {
    const page = await dashboard.openSignedIn(tenant, { scopes: [...scopes] })
    const rejections = collectRejections(page)
    expect(await views(page)).toEqual(expected)
    for (const name of expected) {
      await page.locator('nav[aria-label=Main]').getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      expect(await page.getByRole('alert').count()).toBe(0)
    }
    expect(rejections).toEqual([])
  })

  test('hides forbidden file actions from a user with only the metadata scope', async () => {
    const page = await dashboard.openSignedIn(tenant, { scopes: ['metadata'], at: '/files' })
    await page.getByRole('link', { name: 'kept.txt' }).click()
    await page.getByRole('heading', { level: 1, name: 'kept.txt' }).waitFor()
    for (const name of ['Download', 'Copy download link', 'Delete']) expect(await button(page, name).count()).toBe(0)
    expect(await page.getByRole('heading', { name: 'Preview' }).count()).toBe(0)
    await page.goto('/files')
    await page.getByRole('cell', { name: 'kept.txt', exact: true }).waitFor()
    expect(await button(page, 'Choose files').count()).toBe(0)
    await page.goto('/contexts/notes')
    await page.getByLabel('Allowed extensions').waitFor()
    for (const name of ['Save changes', 'Disable', 'Delete']) expect(await button(page, name).count()).toBe(0)
    await page.goto('/keys')
    await page.getByText('Page not found').waitFor()
  })

  test('shows an error page for an unknown path and for a forbidden page', async () => {
    const page = await dashboard.openSignedIn(tenant, { scopes: ['metadata'] })
    for (const path of ['/nothing-here', '/files/a/b', '/keys', '/contexts/%']) {
      const response = await page.goto(path)
      expect([path, response!.status()]).toEqual([path, path === '/keys' ? 200 : 404])
      await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
      await page.getByText(`There is no page at ${path}`).waitFor()
    }
    await page.getByRole('link', { name: 'Back to the home page' }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('signs in with a welcome link in a tab that already shows the dashboard', async () => {
    const { userId, email } = await dashboard.createUser(tenant, ['metadata'])
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto('/')
    await button(page, 'Sign in').waitFor()
    await page.goto('/#welcome=a.b.c')
    await page.getByRole('alert').waitFor()
    await page.goto(`/#welcome=${await world.app.services.signIns.createWelcomeToken(userId)}`)
    await page.getByText(email).waitFor()
    expect(page.url()).not.toContain('welcome')
    // A valid link replaces another user's session. An invalid link changes nothing.
    const other = await dashboard.createUser(tenant, ['metadata'])
    await page.goto(`/#welcome=${await world.app.services.signIns.createWelcomeToken(other.userId)}`)
    await page.getByText(other.email).waitFor()
    await page.goto('/#welcome=a.b.c')
    await page.getByRole('alert').waitFor()
    await page.getByText(other.email).waitFor()
  })

  test('reports a page whose code cannot be loaded, and loads it after the connection is restored', async () => {
    const page = await dashboard.openSignedIn(tenant)
    await page.locator('.tile').first().waitFor()
    await page.route('**/assets/calls-*.js', (route) => route.abort())
    await page.locator('nav[aria-label=Main]').getByRole('link', { name: 'Calls' }).click()
    await page.getByRole('alert').getByText('This page could not be loaded.').waitFor()
    await page.unroute('**/assets/calls-*.js')
    await button(page, 'Reload').click()
    await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor()
  })

  test('reports a wrong password and opens the requested page after sign-in', async () => {
    const user = await dashboard.createUser(tenant, ['metadata'])
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto('/files?search=ke')
    await page.getByLabel('Email').fill(user.email)
    await page.getByLabel('Password').fill('wrong')
    await button(page, 'Sign in').click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe(user.email)
    await page.getByLabel('Password').fill(user.password)
    await button(page, 'Sign in').click()
    // Sign-in leads to the page that was requested before.
    await page.getByRole('cell', { name: 'kept.txt', exact: true }).waitFor()
  })

  test('requests only the current user when the dashboard loads without a session', async () => {
    const page = await (await dashboard.newBrowserContext()).newPage()
    const requested: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST')
        requested.push(`${new URL(request.url()).pathname} ${request.postDataJSON().operationName}`)
    })
    await page.goto('/keys')
    await button(page, 'Sign in').waitFor()
    expect(requested).toEqual(['/graphql Me'])
  })

  test('requires a code at the next sign-in after two-factor authentication is set up', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/account' })
    const { email, password } = page.user
    await page.getByLabel('Your password').fill(password)
    await button(page, 'Set up two-factor authentication').click()
    const secret = (await page.locator('.codeline code').first().textContent())!
    await page.getByLabel('Authenticator code', { exact: true }).fill(new TOTP({ secret }).generate())
    await button(page, 'Enable two-factor authentication').click()
    const codes = (await page.getByRole('dialog').locator('code').textContent())!.split(' ')
    expect(codes).toHaveLength(10)
    await button(page, 'I have saved the codes').click()
    await button(page, 'Sign out').click()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await page.getByLabel('Authenticator code').fill(codes[0]!)
    await button(page, 'Sign in').click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('shows when the user can try again after too many wrong authenticator codes', async () => {
    const { email, password } = await dashboard.createUser(tenant, ['metadata'])
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto('/')
    for (const [wrongCodes, hours, message] of [
      [10, 1, /^Too many wrong codes\. Try again after \w+ \d+, \d{4}, \d\d:\d\d, or ask an administrator/],
      [100, 0, /^Too many wrong codes\. Ask an administrator to disable two-factor authentication or reset your password\.$/],
    ] as const) {
      await world.database.pool.query(
        'UPDATE users SET totp_confirmed_at = now(), wrong_codes = $2, codes_locked_until = now() + make_interval(hours => $3) WHERE email = $1',
        [email, wrongCodes, hours],
      )
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password').fill(password)
      await button(page, 'Sign in').click()
      await page.getByRole('alert').getByText(message).waitFor()
    }
  })

  test('shows only the setup page to a user who lacks the required second factor', async () => {
    const strict = await world.createTenant()
    await strict.admin.graphql('mutation { requireSecondFactor(required: true) { id } }')
    const user = await dashboard.createUser(strict, ['admin'])
    const context = await dashboard.newBrowserContext()
    await context.request.post('/session', { data: { email: user.email, password: user.password } })
    const page = await context.newPage()
    await page.goto('/keys')
    await page.getByText('This tenant requires two-factor authentication.').waitFor()
    expect(await page.locator('nav').count()).toBe(0)
  })

  test('signs out the user in all dashboard tabs and revokes the session', async () => {
    const first = await dashboard.openSignedIn(tenant, { at: '/files' })
    const second = await first.context().newPage()
    await second.goto('/keys')
    await second.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    const cookies = await first.context().cookies()
    await button(first, 'Sign out').click()
    await first.getByLabel('Password').waitFor()
    await second.getByRole('dialog').getByText('Your session has ended.').waitFor()
    const cookie = `assay_session=${cookies.find(({ name }) => name === 'assay_session')!.value}`
    expect((await world.unauthenticated.get('/files', { cookie, 'x-assay-request': 'dashboard' })).status).toBe(401)
  })

  test('shows no sign-in dialog if a request fails during sign-out', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/account' })
    const [ended, responded] = [new EventEmitter(), new EventEmitter()]
    await page.route('**/session', async (route) => {
      const response = await route.fetch()
      ended.emit('so')
      await once(responded, 'so')
      await route.fulfill({ response })
    })
    await Promise.all([once(ended, 'so'), button(page, 'Sign out').click()])
    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    responded.emit('so')
    await page.getByLabel('Password').waitFor()
  })

  test('ignores a late response about the current user after sign-out', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    const [requested, released] = [new EventEmitter(), new EventEmitter()]
    await page.route('**/graphql', async (route) => {
      if (route.request().postDataJSON().operationName !== 'Me') return route.continue()
      const response = await route.fetch()
      requested.emit('so')
      await once(released, 'so')
      await route.fulfill({ response })
    })
    // Simulates the sign-out message from another tab.
    await Promise.all([once(requested, 'so'), page.evaluate("new BroadcastChannel('assay.session').postMessage('in')")])
    await button(page, 'Sign out').click()
    await page.getByLabel('Password').waitFor()
    const late = page.waitForEvent('requestfinished')
    released.emit('so')
    await late
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    expect(await page.locator('.sidebar').count()).toBe(0)
    await page.getByLabel('Password').fill('still there')
  })

  test("clears the previous user's data in all tabs when another user signs in", async () => {
    const page = await dashboard.openSignedIn(tenant)
    await page.locator('.tile').first().waitFor()
    const { email, password } = await dashboard.createUser(await world.createTenant(), ['admin'])
    await page.context().request.post('/session', { data: { email, password } })
    // Delays the responses to the new user's requests.
    await page.route('**/graphql', (route) => {
      if (route.request().postDataJSON().operationName === 'Me') return route.continue()
    })
    await page.evaluate("new BroadcastChannel('assay.session').postMessage('in')")
    await page.getByText(email).waitFor()
    expect(await page.locator('.tile').count()).toBe(0)
  })

  test('preserves unsaved input if the session ends and the user signs in again', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/contexts/new-context' })
    await page.getByLabel('Key', { exact: true }).fill('half_typed')
    await page.getByLabel('Name', { exact: true }).fill('Half typed')
    await tenant.admin.graphql('mutation ($id: ID!) { endUserSessions(userId: $id) }', { id: page.user.userId })
    await button(page, 'Create context').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Your session has ended.').waitFor()
    expect(await dialog.getByLabel('Email').inputValue()).toBe(page.user.email)
    await dialog.getByLabel('Password').fill(page.user.password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half typed')
    await button(page, 'Create context').click()
    await page.getByRole('heading', { level: 1, name: 'Files' }).waitFor()
    expect((await tenant.admin.get('/contexts/half_typed')).status).toBe(200)
  })

  test('keeps the dashboard page open while the browser is offline, and retries uploads afterwards', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files?context=notes' })
    await page.getByRole('cell', { name: 'kept.txt', exact: true }).waitFor()
    await page.context().setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await selectFiles(page, { name: 'later.txt', content: 'later' })
    await page.locator('.upload.failed').waitFor()
    await page.getByRole('cell', { name: 'kept.txt', exact: true }).waitFor()
    await page.context().setOffline(false)
    await page.getByText('You are offline.').waitFor({ state: 'detached' })
    await page.locator('.upload.accepted').waitFor()
    await page.getByRole('cell', { name: 'later.txt', exact: true }).waitFor()
  })

  test('retries a dashboard upload after a lost connection', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/files?context=notes' })
    await page.route('**/api/v1/files/upload', (route) => route.abort('internetdisconnected'), { times: 1 })
    await selectFiles(page, { name: 'lost.txt', content: 'lost once' })
    await page.locator('.upload.accepted').waitFor()
  })
})
