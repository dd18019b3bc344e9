import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.js'
import { getProgramPath } from '../installed-programs.js'
import type { S3Server } from './server-bucket.js'

const run = promisify(execFile)

// Values are functions because programPath throws if Ceph is not installed.
const daemons = {
  monitor: () => getProgramPath('ceph-mon'),
  storage: () => getProgramPath('ceph-osd'),
  gateway: () => getProgramPath('radosgw'),
}

/** A Ceph cluster with one monitor, one in-memory storage daemon and the RADOS Gateway as its S3 interface. */
export class Ceph implements S3Server {
  readonly credentials = { accessKeyId: 'assay', secretAccessKey: 'testing' }
  readonly #daemons: ChildProcess[] = []
  #gateway: ChildProcess | undefined

  private constructor(
    readonly url: string,
    private readonly directory: string,
  ) {}

  static async start(): Promise<Ceph> {
    const directory = await mkdtemp(join(tmpdir(), 'assay-ceph-'))
    const [monitorPort, port] = [await findFreePort(), await findFreePort()]
    const ceph = new Ceph(`http://127.0.0.1:${port}`, directory)
    const clusterId = randomUUID()
    await writeFile(join(directory, 'ceph.conf'), formatSettings({ directory, clusterId, monitorPort, port }))
    await ceph.#createKeys()
    await ceph.#startMonitor(clusterId, monitorPort)
    await ceph.#startStorage()
    const { accessKeyId, secretAccessKey } = ceph.credentials
    const user = ['--uid=assay', '--display-name=Assay', `--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`]
    await ceph.#runCommand('radosgw-admin', 'user', 'create', ...user)
    await ceph.up()
    return ceph
  }

  async down(): Promise<void> {
    const gateway = this.#gateway
    this.#gateway = undefined
    if (gateway) await killProcess(gateway)
  }

  async up(): Promise<void> {
    if (this.#gateway) return
    this.#gateway = this.#spawnDaemon('gateway', '-n', 'client.rgw.a')
    for (let attempt = 0; attempt < 600; attempt++) {
      if (await fetch(this.url).catch(() => undefined)) return
      await sleep(100)
    }
    throw new Error(`The RADOS Gateway does not respond at ${this.url}.`)
  }

  async stop(): Promise<void> {
    await this.down()
    for (const daemon of this.#daemons.reverse()) await killProcess(daemon)
    await rm(this.directory, { recursive: true, force: true })
  }

  async #createKeys(): Promise<void> {
    await this.#runCommand('ceph-authtool', '--create-keyring', 'keyring', '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *')
    const permissions = {
      'client.admin': ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *'],
      'osd.0': ['--cap', 'mon', 'allow profile osd', '--cap', 'osd', 'allow *'],
      'client.rgw.a': ['--cap', 'mon', 'allow rw', '--cap', 'osd', 'allow rwx'],
    }
    for (const [name, caps] of Object.entries(permissions))
      await this.#runCommand('ceph-authtool', 'keyring', '--gen-key', '-n', name, ...caps)
  }

  async #startMonitor(clusterId: string, port: string): Promise<void> {
    await run('monmaptool', ['--create', '--fsid', clusterId, '--addv', 'a', `[v2:127.0.0.1:${port}]`, 'monitors'], {
      cwd: this.directory,
    })
    await this.#runCommand('ceph-mon', '--mkfs', '-i', 'a', '--monmap', 'monitors', '--keyring', 'keyring')
    this.#daemons.push(this.#spawnDaemon('monitor', '-i', 'a'))
  }

  async #startStorage(): Promise<void> {
    const id = randomUUID()
    await this.#runCommand('ceph', 'osd', 'new', id)
    await mkdir(join(this.directory, 'osd'))
    await this.#runCommand('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', id)
    this.#daemons.push(this.#spawnDaemon('storage', '-i', '0'))
  }

  /** Commands wait for the daemons that they need. */
  #runCommand(program: string, ...args: string[]): Promise<unknown> {
    return run(program, ['-c', 'ceph.conf', ...args], { cwd: this.directory, timeout: 120_000 })
  }

  #spawnDaemon(daemon: keyof typeof daemons, ...args: string[]): ChildProcess {
    return spawn(daemons[daemon](), ['-c', 'ceph.conf', '-f', ...args], { cwd: this.directory, stdio: 'ignore' })
  }
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

interface Settings {
  directory: string
  clusterId: string
  monitorPort: string
  port: string
}

const formatSettings = ({ directory, clusterId, monitorPort, port }: Settings): string => `[global]
fsid = ${clusterId}
mon host = [v2:127.0.0.1:${monitorPort}]
mon initial members = a
public addr = 127.0.0.1
keyring = ${directory}/keyring
mon data = ${directory}/mon
osd data = ${directory}/osd
osd objectstore = memstore
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
mon data avail crit = 1
mon data avail warn = 1
run dir = ${directory}
admin socket =
log file =
log to stderr = false
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw data = ${directory}/gateway
rgw thread pool size = 32
`
