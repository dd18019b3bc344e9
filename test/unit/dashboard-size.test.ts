import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { formatBytes, predictQuotaExhaustionDate } from '../../dashboard/api/format.js'
import { describeUserAgent } from '../../dashboard/api/user-agent.js'

const built = new URL('../../dist/dashboard/public/', import.meta.url)

const readBuilt = (name: string) => readFileSync(new URL(name, built), 'utf8')

function findFirstPageFiles(): Set<string> {
  const found = new Set<string>()
  const add = (name: string) => {
    if (found.has(name)) return
    found.add(name)
    if (!name.endsWith('.js')) return
    // Matches static imports of minified modules: `from"./chunk-X.js"` and `import"./chunk-X.js"`.
    for (const [, imported] of readBuilt(name).matchAll(/(?:from|import)"\.\/([\w.-]+)"/g)) add(imported!)
  }
  for (const [, name] of readBuilt('index.html').matchAll(/\/assets\/([\w.-]+)/g)) add(name!)
  for (const name of readdirSync(built)) if (/^overview-\w+\.js$/.test(name)) add(name)
  return found
}

test("limits the compressed scripts and styles of the dashboard's first page to 160 KB", () => {
  const files = findFirstPageFiles()
  expect([...files].filter((name) => /^(app|overview|style)-/.test(name))).toHaveLength(3)
  const bytes = [...files].reduce((sum, name) => sum + gzipSync(readBuilt(name)).length, 0)
  expect(bytes).toBeGreaterThan(30 * 1024)
  expect(bytes).toBeLessThan(160 * 1024)
})

test("does not load the code of other pages with the dashboard's first page", () => {
  const files = findFirstPageFiles()
  for (const page of ['files', 'contexts', 'keys', 'calls', 'audit', 'webhooks', 'health', 'account']) {
    const name = readdirSync(built).find((each) => new RegExp(`^${page}-\\w+\\.js$`).test(each))
    expect([page, name !== undefined, files.has(name!)]).toEqual([page, true, false])
  }
})

test.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
    'Chrome 131 on Linux',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox 130 on Windows'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0',
    'Edge 131 on Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Safari 18 on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari 18 on iOS',
  ],
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
    'Chrome 131 on Android',
  ],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['', ''],
])('describes the user agent %s as %s', (userAgent, description) => expect(describeUserAgent(userAgent)).toBe(description))

test.each([
  [0, '0 B'],
  [1023, '1,023 B'],
  [1024, '1 KB'],
  [1_572_864, '1.5 MB'],
  [5 * 1024 ** 4, '5 TB'],
])('formats %d bytes as %s', (count, text) => expect(formatBytes(count)).toBe(text))

const points = (...totals: number[]) =>
  totals.map((totalBytes, day) => ({ timestamp: new Date(Date.UTC(2026, 0, 1 + day)).toISOString(), totalBytes }))

test('predicts from recent growth when the quota will be used up', () => {
  const days = (predictQuotaExhaustionDate(points(0, 100, 200), 1000)!.getTime() - Date.now()) / 86_400_000
  expect(days).toBeCloseTo(8, 2)
})

test.each([
  ['usage does not grow', points(200, 200), 1000],
  ['usage shrinks', points(300, 200), 1000],
  ['only one day is known', points(300), 1000],
  ['the day is more than ten years away', points(0, 1), 1_000_000],
])('does not predict when the quota will be used up if %s', (_what, input, quota) =>
  expect(predictQuotaExhaustionDate(input, quota)).toBeNull(),
)
