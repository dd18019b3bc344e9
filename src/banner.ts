import type { App } from './app.js'
import type { Config } from './config/config.js'

/** What the operator reads last when the service starts. Secrets of the first start stand here and nowhere else. */
export function banner({ config, port, database, app }: { config: Config; port: number; database: string; app: App }): string {
  // PORT=0 is known only now; PUBLIC_URL, where it is given, is how clients come.
  const url = config.publicUrl.replace(/:0$/, `:${port}`)
  const lines = [
    '',
    `Assay listens on ${config.host}:${port}`,
    ...(config.dashboard ? [`  Dashboard ${url}/`] : []),
    `  API       ${url}/api/v1   (documented at ${url}/docs)`,
    `  GraphQL   ${url}/graphql${config.graphqlExplorer ? '   (a page in a browser)' : ''}`,
    `  Database  ${database}`,
    `  Store     ${app.descriptions.storage}`,
    ...app.descriptions.scanner.split('\n').map((line, place) => `  ${place === 0 ? 'Scanner ' : '        '}  ${line}`),
    '',
    ...(app.firstRun ? firstRun(app.firstRun, url, config.dashboard) : ['Try it:', `  curl -s ${url}/health/ready`]),
    '',
  ]
  return lines.join('\n')
}

function firstRun(
  { apiKey, adminEmail, adminPassword, welcome }: NonNullable<App['firstRun']>,
  url: string,
  dashboard: boolean,
): string[] {
  const shownOnce = [
    `  API key   ${apiKey}   (all scopes)`,
    `  Sign-in   ${adminEmail}   ${adminPassword ?? '(the password of BOOTSTRAP_ADMIN_PASSWORD)'}`,
  ]
  return [
    'The first key and the first dashboard user, shown this once:',
    ...shownOnce,
    ...(dashboard
      ? ['', 'Open the dashboard (this link signs in once, within ten minutes):', `  ${url}/#welcome=${welcome}`]
      : []),
    '',
    'Try it:',
    `  curl -s -H ${quoted(`Authorization: Bearer ${apiKey}`)} ${url}/api/v1/contexts`,
  ]
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
