import { type ChildProcess, spawn } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { queryClamd, sendToClamd } from '../../src/inspection/scanners/clamd/commands.js'
import { parseClamdUrl } from '../../src/inspection/scanners/clamd/exchange.js'
import { findLocalClamd } from '../../src/inspection/scanners/index.js'
import { createMemoryContent, eicar } from './eicar.js'
import { findFreePort } from './free-port.js'
import { getProgramPath } from './installed-programs.js'

export interface RealClamd {
  tcpUrl: string
  unixUrl: string
  configFile: string
  /** Resolves when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Pauses the process with SIGSTOP, to simulate an overloaded machine. */
  freeze(): void
  /** Restarts clamd with the same settings, port and socket. */
  restart(): Promise<void>
  /** Loads signatures without the EICAR string and resolves when they are active. */
  forgetEicar(): Promise<void>
  /** Loads an additional signature for these bytes and resolves when it is active. */
  addSignature(name: string, bytes: string): Promise<void>
  close(): Promise<void>
}

/** An .ndb database whose only signature is the EICAR string. */
export const eicarSignature = `Test.EICAR:0:0:${eicar.toString('hex')}\n`

/** Starts a real clamd that detects the EICAR string. `settings` are lines of clamd.conf. */
export async function startRealClamd(settings: string[] = ['StreamMaxLength 200M']): Promise<RealClamd> {
  const clamd = getProgramPath('clamd')
  const folder = await mkdtemp(join(tmpdir(), 'assay-clamd-'))
  const port = Number(await findFreePort())
  const socket = join(folder, 'clamd.sock')
  await mkdir(join(folder, 'db'))
  const database = join(folder, 'db', 'test.ndb')
  await writeFile(database, eicarSignature)
  const config = [
    `DatabaseDirectory ${join(folder, 'db')}`,
    // A killed clamd leaves temporary files in this folder.
    `TemporaryDirectory ${folder}`,
    `LocalSocket ${socket}`,
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    ...settings,
  ]
  await writeFile(join(folder, 'clamd.conf'), `${config.join('\n')}\n`)
  let daemon: ChildProcess
  let exited: Promise<void>
  const unixUrl = `clamd://${socket}`
  const kill = async (signal: NodeJS.Signals) => {
    daemon.kill(signal)
    await exited
  }
  const startDaemon = async () => {
    // Without `User`, clamd runs as the user who runs the test, including root.
    daemon = spawn(clamd, ['--foreground', `--config-file=${join(folder, 'clamd.conf')}`], { stdio: 'ignore' })
    exited = new Promise<void>((resolve) => daemon.once('exit', () => resolve()))
    await waitForPing(daemon, unixUrl)
  }
  const forgetEicar = async () => {
    const address = parseClamdUrl(unixUrl)
    const deadlines = { connectMs: 5_000, idleMs: 5_000, answerMs: 20_000, overallMs: 20_000 }
    await writeFile(database, `Test.Other:0:0:${Buffer.from('nothing that is ever scanned').toString('hex')}\n`)
    await queryClamd(address, 'RELOAD', deadlines)
    while ((await sendToClamd(address, createMemoryContent(eicar), deadlines)) !== 'stream: OK')
      await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const addSignature = async (name: string, bytes: string) => {
    const address = parseClamdUrl(unixUrl)
    const deadlines = { connectMs: 5_000, idleMs: 5_000, answerMs: 20_000, overallMs: 20_000 }
    await appendFile(database, `${name}:0:*:${Buffer.from(bytes).toString('hex')}\n`)
    await queryClamd(address, 'RELOAD', deadlines)
    while ((await sendToClamd(address, createMemoryContent(Buffer.from(bytes)), deadlines)) === 'stream: OK')
      await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const close = async () => {
    await kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await startDaemon()
  } catch (error) {
    await close()
    throw error
  }
  return {
    unixUrl,
    configFile: join(folder, 'clamd.conf'),
    tcpUrl: `clamd://127.0.0.1:${port}`,
    kill,
    freeze: () => void daemon.kill('SIGSTOP'),
    restart: startDaemon,
    forgetEicar,
    addSignature,
    close,
  }
}

async function waitForPing(daemon: ChildProcess, url: string): Promise<void> {
  const until = Date.now() + 60_000
  while (Date.now() < until) {
    if (daemon.exitCode !== null) throw new Error(`clamd exited with status ${daemon.exitCode} during its start.`)
    if (await findLocalClamd([url])) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('clamd did not respond to PING within 60 s.')
}
