// npm run screens: measures the size and load time of the dashboard and updates the screenshots in docs/screens. `-- --measure`
// skips the screenshots.

import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import sharp from 'sharp'
import { startMonitoredService } from '../support/monitored-service.mjs'
import { createInvoicePdf, createLandscape } from './support/sample-files.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pictures = join(root, 'docs', 'screens')
const measureOnly = process.argv.includes('--measure')

printSizes()
const dataDir = mkdtempSync(join(tmpdir(), 'assay-screens-'))
const service = await startMonitoredService({
  DATA_DIR: dataDir,
  PORT: String(await findFreePort()),
  BOOTSTRAP_ADMIN_PASSWORD: 'only-for-pictures',
})
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const key = /API key\s+(\S+)/.exec(service.output())[1]
  await seed(service.url, key)
  await measure()
  if (!measureOnly) await takeScreenshots()
} finally {
  await browser.close()
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

function printSizes() {
  const folder = join(root, 'dist', 'dashboard', 'public')
  const sizes = readdirSync(folder).map((name) => gzipSync(readFileSync(join(folder, name))).length)
  const sum = sizes.reduce((bytes, size) => bytes + size, 0)
  console.log(`${sizes.length} files, ${(sum / 1024).toFixed(1)} KB after gzip compression`)
}

/** Measures the time from an empty cache to the complete page in the browser and returns the median of five runs. */
async function measure() {
  const times = []
  for (let round = 0; round < 5; round++) {
    const context = await openSignedIn()
    const page = await context.newPage()
    await page.goto('/')
    await page.locator('.tile').first().waitFor()
    times.push(await page.evaluate(() => performance.now()))
    await context.close()
  }
  console.log(
    `interactive after ${times.map((ms) => Math.round(ms)).sort((a, b) => a - b)[2]} ms (${times.map(Math.round).join(', ')})`,
  )
}

async function openSignedIn(options = {}) {
  const context = await browser.newContext({ baseURL: service.url, viewport: { width: 1280, height: 800 }, ...options })
  const { status } = await context.request
    .post('/session', { data: { email: 'admin@localhost', password: 'only-for-pictures' } })
    .then((response) => ({ status: response.status() }))
  if (status !== 200) throw new Error(`The sign-in returned the status ${status}.`)
  return context
}

async function takeScreenshots() {
  mkdirSync(pictures, { recursive: true })
  const takeScreenshot = async (name, options, work) => {
    const context = await openSignedIn(options)
    const page = await context.newPage()
    await work(page)
    await page.evaluate(() => Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {}))))
    // A palette reduces the file size to a third without a visible difference.
    await sharp(await page.screenshot())
      .png({ palette: true, quality: 90, effort: 10 })
      .toFile(join(pictures, `${name}.png`))
    await context.close()
  }
  const openOverview = async (page) => {
    // Mocks the chart history because a new service has none.
    await page.route('**/graphql', (route) =>
      route.request().postDataJSON()?.operationName === 'Charts'
        ? route.fulfill({ json: createChartHistory() })
        : route.fallback(),
    )
    await page.goto('/')
    await page.locator('.plot-bars').nth(2).waitFor()
  }
  await takeScreenshot('overview', {}, openOverview)
  await takeScreenshot('overview-dark', { colorScheme: 'dark' }, openOverview)
  await takeScreenshot('upload', {}, async (page) => {
    await page.goto('/files?context=invoices')
    await page.locator('input[type=file]').setInputFiles([
      { name: 'invoice-4711.csv', mimeType: '', buffer: Buffer.from('item,amount\nPaper,12.50\n') },
      { name: 'scan-of-march.png', mimeType: '', buffer: Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex') },
    ])
    await page.locator('.upload.accepted').waitFor()
    await page.locator('.upload.rejected').waitFor()
  })
  const openFileList = async (page) => {
    await page.goto('/files')
    await page.locator('.thumbnail img').nth(5).waitFor()
  }
  await takeScreenshot('files', {}, openFileList)
  await takeScreenshot('file', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }, async (page) => {
    await page.goto('/files?search=invoice-2026')
    await page.getByRole('link', { name: 'invoice-2026-0117.pdf' }).click()
    await page.locator('.preview-frame img').waitFor()
  })
  await takeScreenshot('phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }, openFileList)
}

function createChartHistory() {
  const days = Array.from({ length: 30 }, (_, day) => ({
    day,
    timestamp: new Date(Date.now() - (29 - day) * 86_400_000).toISOString(),
  }))
  const getWaveValue = (day) => 40 + 22 * Math.sin(day * 0.9) + day
  const createChart = (make) => ({ dataPoints: days.map(({ day, timestamp }) => ({ timestamp, ...make(day) })) })
  return {
    data: {
      apiCallsChart: createChart((day) => ({
        success: Math.round(getWaveValue(day) * 30),
        failure: Math.round(getWaveValue(day + 2) * 2),
      })),
      uploadsChart: createChart((day) => ({ count: Math.round(getWaveValue(day + 1)) })),
      storageChart: createChart((day) => ({ totalBytes: Math.round((day + 3) ** 2 * 9_000) })),
    },
  }
}

async function seed(url, key) {
  const headers = { authorization: `Bearer ${key}` }
  const postJson = async (path, body) =>
    (
      await fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).json()
  const contexts = [
    ['invoices', 'Invoices', ['pdf', 'png', 'csv'], 40],
    ['avatars', 'Avatars', ['png', 'jpg', 'webp'], 10],
    ['exports', 'Data exports', ['csv', 'json'], 100],
  ]
  for (const [context_key, display_name, allowed_extensions, storage_quota_mb] of contexts)
    await postJson('/contexts', { context_key, display_name, allowed_extensions, max_file_size_mb: 10, storage_quota_mb })
  const uploadFile = async (context, name, content) => {
    const form = new FormData()
    form.append('context', context)
    form.append('file', new Blob([content]), name)
    await (await fetch(`${url}/api/v1/files/upload`, { method: 'POST', headers, body: form })).arrayBuffer()
  }
  for (let each = 0; each < 14; each++) {
    await uploadFile('invoices', `supplier-${2041 + each * 7}.csv`, `item,amount\n${`Paper,${each}.50\n`.repeat(60_000)}`)
    await uploadFile(
      'exports',
      `orders-2026-${String(each + 1).padStart(2, '0')}.json`,
      JSON.stringify(Array.from({ length: 9_000 * (each + 1) }, (_, id) => ({ id }))),
    )
  }
  const places = ['harbour', 'alps', 'dunes', 'lagoon']
  for (const [at, place] of places.entries()) await uploadFile('avatars', `${place}-at-noon.jpg`, await createLandscape(at * 85))
  for (const number of [117, 118])
    await uploadFile('invoices', `invoice-2026-0${number}.pdf`, createInvoicePdf(`2026-0${number}`))
  for (const [context, name, content] of [
    ['invoices', 'setup.exe', 'MZ'],
    ['invoices', 'letter.docx', 'x'],
    ['avatars', 'empty.png', ''],
    ['avatars', 'half.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['exports', 'large.csv', 'a,b\n'.repeat(3_000_000)],
  ])
    await uploadFile(context, name, content)
}

async function findFreePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}
