import { type Browser, chromium, type Page } from 'playwright-core'
import { getProgramPath } from './installed-programs.js'

// A long timeout for loaded machines. No test measures time.
export const timeoutMs = 60_000

/** Launches the Chromium installed from the Debian package. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: getProgramPath('chromium'), args: ['--no-sandbox', '--disable-gpu'], timeout: timeoutMs })

/** Opens a page that can reach only one service, and records requests to other hosts and console errors. */
export async function openPage(
  browser: Browser,
  url: string,
): Promise<{ page: Page; foreignRequests: string[]; pageErrors: string[] }> {
  const page = await browser.newPage()
  page.setDefaultTimeout(timeoutMs)
  const foreignRequests: string[] = []
  const pageErrors: string[] = []
  await page.route(
    (requestUrl) => requestUrl.origin !== new URL(url).origin,
    (route) => {
      foreignRequests.push(route.request().url())
      return route.abort()
    },
  )
  page.on('console', (message) => message.type() === 'error' && pageErrors.push(message.text()))
  page.on('pageerror', (error) => pageErrors.push(error.message))
  return { page, foreignRequests, pageErrors }
}
