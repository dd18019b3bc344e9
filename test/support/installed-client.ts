import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const clients = join(root, 'test', 'clients')
/** Third-party packages that client tests use, such as bundlers, installed separately from the service. */
export const tools = join(clients, 'node_modules')

interface Run {
  status: number | null
  output: string
}

export function runProgram(program: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<Run> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CI: 'true', ...options.env, NODE_OPTIONS: '', NODE_ENV: undefined }
    const child = spawn(program, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    child.on('error', reject).on('close', (status) => resolve({ status, output }))
  })
}

/** A project with the installed `npm pack` archive and the tools of test/clients. */
export class InstalledClient {
  private constructor(
    readonly folder: string,
    readonly archive: string,
  ) {}

  static async create(): Promise<InstalledClient> {
    const folder = await mkdtemp(join(tmpdir(), 'assay-installed-'))
    const packed = await runProgram('npm', ['pack', '--json', '--pack-destination', folder, '--workspace', '@assay/client'], {
      cwd: root,
    })
    if (packed.status !== 0) throw new Error(packed.output)
    const modules = join(folder, 'node_modules')
    const client = join(modules, '@assay', 'client')
    await mkdir(client, { recursive: true })
    const archive = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz'))!)
    await runProgram('tar', ['-xzf', archive, '-C', client, '--strip-components', '1'], { cwd: folder })
    // Links the client's dependency and the tools, which find their own dependencies at their real paths.
    await symlink(join(root, 'node_modules', 'tus-js-client'), join(modules, 'tus-js-client'))
    for (const name of ['esbuild', 'webpack', 'vite', 'next', 'react', 'react-dom', 'typescript', '@types'])
      await symlink(join(tools, name), join(modules, name))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
    return new InstalledClient(folder, archive)
  }

  program = (name: string): string => (isAbsolute(name) ? name : join(tools, '.bin', name))
  copy = (path: string): Promise<void> => cp(join(clients, path), join(this.folder, path), { recursive: true })
  read = (path: string): Promise<string> => readFile(join(this.folder, path), 'utf8')
  remove = (): Promise<void> => rm(this.folder, { recursive: true, force: true })
}
