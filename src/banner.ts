import type { App } from './app.js'
import type { Config } from './config/config.js'

/** What the operator reads last when the service starts. Secrets of the first start stand here and nowhere else. */
export function banner({ config, port, database, app }: { config: Config; port: number; database: string; app: App }): string {
  // PORT=0 is known only now; PUBLIC_URL, where it is given, is how clients come.
  const url = config.publicUrl.replace(/:0$/, `:${port}`)
  const lines = [
    '',
    `Assay listens on ${config.host}:${port}`,
    `  API       ${url}/api/v1   (documented at ${url}/docs)`,
    `  GraphQL   ${url}/graphql${config.graphqlExplorer ? '   (Apollo Sandbox in a browser)' : ''}`,
    `  Database  ${database}`,
    `  Store     ${app.descriptions.storage}`,
    ...app.descriptions.scanner.split('\n').map((line, place) => `  ${place === 0 ? 'Scanner ' : '        '}  ${line}`),
    '',
    ...(app.firstRun ? firstRun(app.firstRun, url) : ['Try it:', `  curl -s ${url}/health/ready`]),
    '',
  ]
  return lines.join('\n')
}

function firstRun({ apiKey, adminEmail, adminPassword }: NonNullable<App['firstRun']>, url: string): string[] {
  const shownOnce = [
    `  API key   ${apiKey}   (all scopes)`,
    `  Sign-in   ${adminEmail}   ${adminPassword ?? '(the password of BOOTSTRAP_ADMIN_PASSWORD)'}`,
  ]
  return [
    'The first key and the first dashboard user, shown this once:',
    ...shownOnce,
    '',
    'Try it:',
    `  curl -s -H ${quoted(`Authorization: Bearer ${apiKey}`)} ${url}/api/v1/contexts`,
  ]
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
