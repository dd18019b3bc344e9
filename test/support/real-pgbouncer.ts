import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from './free-port.js'
import { getProgramPath } from './installed-programs.js'

export interface RealPgbouncer {
  url: string
  close(): Promise<void>
}

/** Starts PgBouncer for the database of `databaseUrl` with default settings, overridden by `settings`. */
export async function startPgbouncer(databaseUrl: string, settings: string[] = []): Promise<RealPgbouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-pgbouncer-'))
  const port = await findFreePort()
  const { username, pathname, searchParams } = new URL(databaseUrl)
  const name = pathname.slice(1)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    [
      '[databases]',
      `${name} = host=${searchParams.get('host')} dbname=${name} user=${username}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      ...settings,
      '',
    ].join('\n'),
  )
  // PgBouncer refuses to run as root, so it runs under another user id in a namespace.
  const command = [
    ...(process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000', '--'] : []),
    getProgramPath('pgbouncer'),
    file,
  ]
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  child.stderr.setEncoding('utf8')
  for await (const text of child.stderr) {
    output += text
    if (output.includes('process up')) break
  }
  if (!output.includes('process up')) throw new Error(`PgBouncer did not start: ${output}`)
  return {
    url: `postgresql://${username}@127.0.0.1:${port}/${name}?sslmode=disable`,
    close: async () => {
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
