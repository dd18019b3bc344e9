import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { gz, png, tar, wav } from '../../packages/formats/test/support/samples/basic.js'
import { avif, gif, jpeg, tiff, webp } from '../../packages/formats/test/support/samples/image.js'
import { docx, epub, openDocument, packed } from '../../packages/formats/test/support/samples/office.js'
import { pdf } from '../../packages/formats/test/support/samples/pdf.js'
import { Dashboard, selectFiles } from '../support/dashboard.js'
import { eicar } from '../support/eicar.js'
import { describeWith } from '../support/installed-programs.js'
import { countFiles } from '../support/recount-files.js'
import { type TestTenant, World } from '../support/world.js'

describeWith('chromium')('dashboard', () => {
  let world: World
  let dashboard: Dashboard
  let tenant: TestTenant

  beforeAll(async () => {
    world = await World.open()
    dashboard = await Dashboard.open(world)
    tenant = await world.createTenant()
    await tenant.createContext('notes')
  })
  afterAll(async () => {
    await dashboard?.close()
    await world.close()
  })
  afterEach(async () => expect(await dashboard.endTest()).toEqual([]))

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const dialog = (page: Page) => page.getByRole('dialog')
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('guides a new user from the welcome link to a first validated upload', async () => {
    const page = await (await dashboard.newBrowserContext()).newPage()
    await page.goto(`/#welcome=${world.app.firstRun!.welcome}`)
    await page.getByRole('link', { name: 'Documents' }).click()
    expect(page.url()).not.toContain('welcome')
    await page.getByLabel('Key', { exact: true }).fill('first_files')
    await page.getByLabel('Name', { exact: true }).fill('First files')
    await page.getByLabel('Allowed extensions').fill('txt, png')
    await button(page, 'Create context').click()
    await heading(page, 'Files').waitFor()
    expect(await page.locator('.empty code').textContent()).toContain('curl -H')
    await selectFiles(page, { name: 'hello.txt', content: 'hello' })
    await page.locator('.upload.accepted').waitFor()
    await page.locator('.upload summary').click()
    await page.locator('.upload .report li.passed').nth(4).waitFor()
    await page.getByRole('cell', { name: 'hello.txt', exact: true }).waitFor()
  })

  test('uploads twenty files of different types concurrently in the dashboard', async () => {
    const extensions = [
      'txt',
      'csv',
      'json',
      'png',
      'jpg',
      'gif',
      'webp',
      'avif',
      'tiff',
      'pdf',
      'docx',
      'odt',
      'epub',
      'gz',
      'tar',
      'wav',
    ]
    await tenant.createContext('real', { allowed_extensions: extensions })
    const page = await dashboard.openSignedIn(tenant, { at: '/files?context=real' })
    const files = [
      { name: 'letter.txt', content: 'Dear all' },
      { name: 'table.csv', content: 'a,b\n1,2\n' },
      { name: 'data.json', content: '{"a":1}' },
      { name: 'small.png', content: png() },
      { name: 'large.png', content: png(400, 300) },
      { name: 'photo.jpg', content: await jpeg() },
      { name: 'moving.gif', content: await gif() },
      { name: 'web.webp', content: await webp() },
      { name: 'new.avif', content: await avif() },
      { name: 'scan.tiff', content: await tiff() },
      { name: 'paper.pdf', content: pdf() },
      { name: 'letter.docx', content: packed(docx()) },
      { name: 'letter.odt', content: packed(openDocument('odt')) },
      { name: 'book.epub', content: packed(epub()) },
      { name: 'log.gz', content: gz() },
      { name: 'all.tar', content: tar() },
      { name: 'beep.wav', content: wav() },
      { name: 'ümlaut und Blank.txt', content: 'ä' },
      { name: 'long.txt', content: 'word '.repeat(100_000) },
      { name: '文書.txt', content: '文書' },
    ]
    await selectFiles(page, ...files)
    await page.locator('.uploads header', { hasText: '20 accepted' }).waitFor()
    expect(await page.locator('.uploads .upload.rejected, .uploads .upload.failed').count()).toBe(0)
    await page.locator('.pager', { hasText: '20 of 20' }).waitFor()
    for (const { name } of files) expect(await page.getByRole('cell', { name, exact: true }).count()).toBe(1)
  })

  test('uploads a large file in chunks', async () => {
    await tenant.createContext('large', { max_file_size_mb: 40 })
    const page = await dashboard.openSignedIn(tenant, { at: '/files?context=large' })
    const parts: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/uploads')) parts.push(request.method())
    })
    const content = Buffer.alloc(17 * 1024 * 1024, 'word ')
    await selectFiles(page, { name: 'large.txt', content }, { name: 'large.pdf', content })
    await page.locator('.upload.accepted').waitFor()
    await page.locator('.upload.rejected').waitFor()
    expect(await page.locator('.upload.rejected .report li.failed strong').textContent()).toBe('File integrity')
    expect(parts.filter((method) => method === 'PATCH').length).toBeGreaterThanOrEqual(4)
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    expect((await tenant.admin.get('/files?context=large')).body.data.data[0].size_bytes).toBe(content.length)
  })

  test.each([
    ['invalid_extension', { name: 'setup.exe', content: 'MZ' }, 'File type', 'does not accept this type'],
    ['size_exceeded', { name: 'big.txt', content: 'x'.repeat(6 * 1024 * 1024) }, 'File size', 'larger than this context allows'],
    ['blank_file', { name: 'empty.txt', content: '' }, 'Blank file check', 'The file is empty'],
    ['corrupt_file', { name: 'half.png', content: png(100, 100).subarray(0, 60) }, 'File integrity', 'programs cannot open'],
    ['virus_detected', { name: 'eicar.txt', content: eicar }, 'Basic malware rules', 'found a virus'],
  ])('shows the failed check and advice if a file is rejected with the code %s', async (_reason, file, check, advice) => {
    const countFiles = async () => (await tenant.admin.get('/stats')).body.data.overview.total_files
    const before = await countFiles()
    const page = await dashboard.openSignedIn(tenant, { at: '/files' })
    await page.getByLabel('Upload to context').selectOption('notes')
    await selectFiles(page, file)
    const rejectedRow = page.locator('.upload.rejected')
    await rejectedRow.waitFor()
    expect(await rejectedRow.locator('.report li.failed strong').textContent()).toBe(check)
    expect(await rejectedRow.locator('.report li.failed p').textContent()).not.toBe('')
    expect(await rejectedRow.locator('.advice').textContent()).toContain(advice)
    // A dry run of the same file shows the same advice.
    await page.goto('/try?context=notes')
    await selectFiles(page, file)
    await page.locator('.notice.bad, .advice').first().waitFor()
    expect(await page.locator('.advice').textContent()).toContain(advice)
    expect(await countFiles()).toBe(before)
  })

  test('shows the report of a dry run in the dashboard without storing the file', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/try' })
    await page.getByLabel('Context', { exact: true }).selectOption('notes')
    await selectFiles(page, { name: 'fine.csv', content: 'a,b\n1,2\n' })
    await page.getByText('This file would be accepted.').waitFor()
    expect(await page.locator('.report li.passed').count()).toBe(5)
    await page.getByText(/^Scanned by YARA-X [\d.]+/).waitFor()
    expect((await tenant.admin.get('/files?context=notes')).body.data.pagination.total_items).toBe(0)
  })

  test('shows, previews, downloads and deletes a file in the dashboard', async () => {
    await tenant.createContext('kept')
    const { body } = await tenant.admin.upload('kept', 'poem.txt', 'Shall I compare thee', { metadata: { page: 18 } })
    const page = await dashboard.openSignedIn(tenant, { at: `/files/${body.data.file_id}` })
    await heading(page, 'poem.txt').waitFor()
    expect(await page.locator('.facts').textContent()).toMatch(/kept[\s\S]*text\/plain[\s\S]*20 B[\s\S]*sha256:[\s\S]*"page": 18/)
    expect(await page.locator('.facts time').first().getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    expect(await page.locator('pre.preview').textContent()).toBe('Shall I compare thee')
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()])
    expect([download.suggestedFilename(), await readFile(await download.path(), 'utf8')]).toEqual([
      'poem.txt',
      'Shall I compare thee',
    ])
    await button(page, 'Copy download link').click()
    await page.getByText('Link copied. The link is valid for').waitFor()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(await (await fetch(link)).text()).toBe('Shall I compare thee')
    await button(page, 'Delete').click()
    expect(await dialog(page).textContent()).toContain('cannot be undone')
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await heading(page, 'Files').waitFor()
    expect((await tenant.admin.get(`/files/${body.data.file_id}/metadata`)).status).toBe(404)
  })

  test('selects and deletes several files in the dashboard', async () => {
    await tenant.createContext('several')
    for (const name of ['one.txt', 'two.txt', 'three.txt']) await tenant.admin.upload('several', name, name)
    const page = await dashboard.openSignedIn(tenant, { at: '/files?context=several' })
    await page.getByLabel('Select one.txt').check()
    await page.getByLabel('Select three.txt').check()
    await page.getByText('2 selected').waitFor()
    await button(page, 'Delete').click()
    expect(await dialog(page).textContent()).toContain('Delete 2 files?')
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    expect(await page.getByText('2 selected').count()).toBe(0)
    const { body } = await tenant.admin.get('/files?context=several')
    expect(body.data.data.map((file: { original_filename: string }) => file.original_filename)).toEqual(['two.txt'])
  })

  test('keeps the search, sort order and page of a list of 10,000 files in the URL', async () => {
    const crowd = await world.createTenant()
    const { context_id } = await crowd.createContext('many')
    await world.database.pool.query(
      `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at)
       SELECT 'file_01kb0000' || lpad(n::text, 18, '0'), $1, $2, 'row-' || lpad(n::text, 5, '0') || '.csv', 'text/csv', n, repeat('0', 64), n::text, 'system', now(), now()
       FROM generate_series(1, 10000) n`,
      [crowd.tenantId, context_id],
    )
    await countFiles(world.database.pool, crowd.tenantId)
    const page = await dashboard.openSignedIn(crowd, { at: '/files' })
    await page.getByRole('cell', { name: 'row-10000.csv', exact: true }).waitFor()
    await button(page, 'Next').click()
    await page.getByRole('cell', { name: 'row-09975.csv', exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBe(26)
    await page.reload()
    await page.getByRole('cell', { name: 'row-09975.csv', exact: true }).waitFor()
    await button(page, 'Previous').click()
    await page.getByRole('cell', { name: 'row-10000.csv', exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('cell', { name: 'row-09975.csv', exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click()
    await page.getByRole('cell', { name: 'row-10000.csv', exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click()
    await page.getByRole('cell', { name: 'row-00001.csv', exact: true }).waitFor()
    await page.locator('body').press('/')
    await page.keyboard.type('ROW-0777')
    await page.getByRole('cell', { name: 'row-07770.csv', exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBe(11)
    expect(new URL(page.url()).searchParams.get('search')).toBe('ROW-0777')
    await page.getByLabel('Search', { exact: true }).fill('nothing like it')
    await page.getByText('No matching files').waitFor()
    await button(page, 'Clear filters').click()
    await page.getByRole('cell', { name: 'row-10000.csv', exact: true }).waitFor()
  })

  test('edits, disables and deletes a context in the dashboard', async () => {
    await tenant.createContext('letters')
    const page = await dashboard.openSignedIn(tenant, { at: '/contexts' })
    await page.getByRole('link', { name: 'letters' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Letters to us')
    await page.getByLabel('Allowed extensions').fill('txt, not-one!')
    await button(page, 'Save changes').first().click()
    await page.locator('.field .error').waitFor()
    expect(await page.getByLabel('Allowed extensions').inputValue()).toBe('txt, not-one!')
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Letters to us')
    await page.getByLabel('Allowed extensions').fill('.TXT md')
    await button(page, 'Save changes').first().click()
    await heading(page, 'Letters to us').waitFor()
    await page.getByLabel('Reject active content').check()
    await button(page, 'Save changes').last().click()
    const policy = page.locator('form', { has: page.getByLabel('Reject active content') })
    await policy.getByText('Changes saved').waitFor()
    const { body } = await tenant.admin.get('/contexts/letters')
    expect(body.data).toMatchObject({ display_name: 'Letters to us', allowed_extensions: ['txt', 'md'] })
    expect((await tenant.admin.get('/contexts/letters/policy')).body.data.reject_active_content).toBe(true)
    await button(page, 'Disable').click()
    await dialog(page).getByRole('button', { name: 'Disable' }).click()
    await button(page, 'Enable').click()
    await button(page, 'Disable').waitFor()
    await button(page, 'Delete').click()
    const act = dialog(page).getByRole('button', { name: 'Delete' })
    expect(await act.isDisabled()).toBe(true)
    await dialog(page).getByLabel('Type letters to confirm').fill('letters')
    await act.click()
    await heading(page, 'Contexts').waitFor()
    expect((await tenant.admin.get('/contexts/letters')).status).toBe(404)
  })

  test('shows a new API key only once in the dashboard', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/keys' })
    await button(page, 'New API key').click()
    await dialog(page).getByLabel('Name').fill('Shop')
    await dialog(page).getByLabel('Metadata').check()
    await dialog(page).getByLabel('Expires after (days)').fill('30')
    await dialog(page).getByLabel('notes').check()
    await button(page, 'Create key').click()
    const secret = (await dialog(page).locator('code').first().textContent())!
    const key = world.createCaller(secret)
    expect((await key.get('/files')).status).toBe(200)
    expect((await key.get('/contexts')).body.data.data.map((each: { context_key: string }) => each.context_key)).toEqual([
      'notes',
    ])
    await dialog(page).getByRole('button', { name: 'Copy' }).first().click()
    while ((await page.evaluate<string>('navigator.clipboard.readText()')) !== secret);
    await button(page, 'I have copied the key').click()
    await row(page, 'Shop').waitFor()
    expect(await page.content()).not.toContain(secret)

    const act = async (name: string) => {
      await button(page, 'Actions for Shop').click()
      await button(page, name).click()
    }
    await act('Rotate')
    await dialog(page).getByRole('button', { name: 'Rotate' }).click()
    await dialog(page).locator('code').first().waitFor()
    const next = (await dialog(page).locator('code').first().textContent())!
    await button(page, 'I have copied the key').click()
    for (const each of [secret, next]) expect((await world.createCaller(each).get('/files')).status).toBe(200)
    await act('Disable')
    await dialog(page).getByRole('button', { name: 'Disable' }).click()
    await row(page, 'Shop').getByText('disabled').waitFor()
    expect((await world.createCaller(next).get('/files')).status).toBe(401)
    await act('Enable')
    await row(page, 'Shop').getByText('active').waitFor()
    await act('Revoke')
    await dialog(page).getByLabel('Type Shop to confirm').fill('Shop')
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await row(page, 'Shop').getByText('revoked').waitFor()
    expect(await button(page, 'Actions for Shop').count()).toBe(0)
  })

  test('highlights an API key that has not been used for 90 days', async () => {
    const { id } = await tenant.createKey(['metadata'], { name: 'Forgotten' })
    await world.database.pool.query(`UPDATE api_keys SET created_at = now() - interval '91 days' WHERE api_key_id = $1`, [id])
    const page = await dashboard.openSignedIn(tenant, { at: '/keys' })
    await row(page, 'Forgotten').getByText('unused for 90 days').waitFor()
  })

  test('filters the call log by URL parameters and exports it as CSV', async () => {
    const caller = await tenant.createKey(['upload', 'metadata'], { name: 'Caller' })
    await caller.upload('notes', 'setup.exe', 'MZ')
    await caller.get('/files')
    const page = await dashboard.openSignedIn(tenant, { at: `/calls?key=${caller.id}` })
    await page.locator('.pager', { hasText: '2 of 2' }).waitFor()
    await page.getByLabel('Outcome').selectOption('failure')
    await page.locator('.pager', { hasText: '1 of 1' }).waitFor()
    // The middle of the row contains a link to the context.
    await row(page, "'exe'").getByText("'exe'").click()
    await dialog(page).locator('.report li.failed').waitFor()
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe(`?key=${caller.id}&status=failure`)
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export CSV').click()])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    expect([download.suggestedFilename(), lines.length]).toEqual(['calls.csv', 2])
    expect(lines[1]).toContain("Extension 'exe'")
  })

  test('filters the audit log by type and action in the dashboard', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/audit' })
    await page.getByLabel('Type').selectOption('api_key')
    await page.getByLabel('Action').selectOption('revoked')
    const entry = row(page, 'Shop').filter({ hasText: 'revoked' })
    expect(await entry.textContent()).toContain('Ada Lovelace')
    // The time in a table row is a button that opens the details.
    await entry.locator('.row-button').press('Enter')
    expect(await dialog(page).textContent()).toMatch(/revoked[\s\S]*Ada Lovelace[\s\S]*new_status/)
  })

  test('creates and disables a user in the dashboard, and shows the password only once', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/users' })
    await button(page, 'New user').click()
    await dialog(page).getByLabel('Name').fill('Grace')
    await dialog(page).getByLabel('Email').fill('grace@example.com')
    await button(page, 'Create user').click()
    const password = (await dialog(page).locator('code').textContent())!
    await button(page, 'I have copied the password').click()
    const visitor = await dashboard.newBrowserContext()
    const signIn = () => visitor.request.post('/session', { data: { email: 'grace@example.com', password } })
    expect((await signIn()).status()).toBe(200)
    const act = async (name: string, confirm = name) => {
      await button(page, 'Actions for Grace').click()
      await page.locator('.menu-list:popover-open').getByRole('button', { name, exact: true }).click()
      await dialog(page).getByRole('button', { name: confirm, exact: true }).click()
      await dialog(page).waitFor({ state: 'detached' })
    }
    await act('Sign out everywhere')
    const requested = await visitor.request.post('/graphql', {
      data: { query: '{ me { id } }' },
      headers: { 'x-assay-request': 'dashboard' },
    })
    expect(await requested.text()).toContain('UNAUTHENTICATED')
    await act('Disable')
    await row(page, 'Grace').getByText('disabled').waitFor()
    expect((await signIn()).status()).toBe(401)
  })

  test('shows the scanner status and runs the consistency check in the dashboard', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/health' })
    await page.getByText('The service is ready.').waitFor()
    // Every page warns that the built-in rules are the only scanner.
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Basic malware rules' }) })
    expect(await card.textContent()).toMatch(/YARA-X[\s\S]*UTC[\s\S]*EICAR/)
    const antivirus = page.locator('.card', { has: page.getByRole('heading', { name: 'Connect a virus scanner' }) })
    expect(await antivirus.textContent()).toContain('SCANNER_URL=clamd://')
    await page.goto('/files')
    await page.getByText('do not replace an antivirus.').waitFor()
    await page.getByRole('link', { name: 'Connect a virus scanner' }).click()
    await antivirus.waitFor()
    await button(page, 'Check consistency').click()
    await page.getByText('Blobs without a file').waitFor()
    expect(await page.locator('.badge.good').allInnerTexts()).toContain('0')
  })

  test('shows no warning about basic scan rules if an antivirus engine scans the files', async () => {
    const page = await dashboard.openSignedIn(tenant)
    await page.route('**/health/ready', async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      body.checks.scanner.engine = 'ClamAV + YARA-X'
      await route.fulfill({ response, json: body })
    })
    await Promise.all([page.waitForResponse('**/health/ready'), page.reload()])
    await page.locator('.tile').first().waitFor()
    expect(await page.getByText('do not replace an antivirus.').count()).toBe(0)
  })

  test('ends another session and changes the password of the current user', async () => {
    const page = await dashboard.openSignedIn(tenant, { at: '/account' })
    const { email, password } = page.user
    await (await dashboard.newBrowserContext()).request.post('/session', { data: { email, password } })
    await page.reload()
    await page.getByRole('cell', { name: /^(Headless)?Chrome \d+ on Linux this session$/ }).waitFor()
    await button(page, 'End session').click()
    await button(page, 'End session').waitFor({ state: 'detached' })
    await page.getByLabel('Current password').fill('wrong')
    await page.getByLabel('New password').fill('a-much-better-one')
    await button(page, 'Change password').click()
    await page.getByText('The current password is wrong.').waitFor()
    expect(await page.getByLabel('New password').inputValue()).toBe('a-much-better-one')
    await page.getByLabel('Current password').fill(password)
    await button(page, 'Change password').click()
    await page.getByText('Password changed.').waitFor()
  })
})
