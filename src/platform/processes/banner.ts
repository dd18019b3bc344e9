import { type Config, getSecretSource } from '../config/config.js'
import type { FirstRun, Started } from './messages.js'

/**
 * Returns the message that is printed after the start. On the first start, it contains the generated secrets, but not those that
 * the operator has set.
 */
export function createBanner(config: Config, database: string, started: Started): string {
  const { port, descriptions } = started
  const processes = config.processes > 1 ? ` with ${config.processes} processes` : ''
  // If PORT is 0, PUBLIC_URL also contains port 0. Replace it with the port that the system has selected.
  const url = config.publicUrl.replace(/:0$/, `:${port}`)
  const lines = [
    '',
    `Assay listens on ${config.host}:${port}${processes}`,
    ...(config.dashboard ? [`  Dashboard ${url}/`] : []),
    `  API       ${url}/api/v1   (documentation: ${url}/docs)`,
    `  GraphQL   ${url}/graphql${config.graphqlExplorer ? '   (Apollo Sandbox in a browser)' : ''}`,
    `  Database  ${database}`,
    `  Store     ${descriptions.storage}`,
    ...descriptions.scanner.split('\n').map((line, index) => `  ${index === 0 ? 'Scanner ' : '        '}  ${line}`),
    '',
    ...(started.firstRun
      ? createFirstRunLines(started.firstRun, url, config.dashboard)
      : ['Try it:', `  curl -s ${url}/health/ready`]),
    '',
  ]
  return lines.join('\n')
}

function createFirstRunLines(
  { apiKey, adminEmail, adminPassword, welcome }: FirstRun,
  url: string,
  dashboard: boolean,
): string[] {
  const credentials = [
    `  API key   ${apiKey ?? `(the value of ${getSecretSource('BOOTSTRAP_API_KEY')})`}   (all scopes)`,
    `  Sign-in   ${adminEmail}   ${adminPassword ?? `(the password of ${getSecretSource('BOOTSTRAP_ADMIN_PASSWORD')})`}`,
  ]
  return [
    'First key and first dashboard user (shown only once):',
    ...credentials,
    ...(dashboard
      ? ['', 'Open the dashboard (this link signs you in once, within ten minutes):', `  ${url}/#welcome=${welcome}`]
      : []),
    '',
    'Try it:',
    `  curl -s -H ${apiKey ? `'Authorization: Bearer ${apiKey}'` : createAuthorizationHeaderFromEnv()} ${url}/api/v1/contexts`,
  ]
}

/** Returns the Authorization header as a shell argument that reads the API key from its environment variable or file. */
function createAuthorizationHeaderFromEnv(): string {
  const source = getSecretSource('BOOTSTRAP_API_KEY')
  const value = source.endsWith('_FILE') ? `$(cat "$${source}")` : `$${source}`
  return `"Authorization: Bearer ${value}"`
}
