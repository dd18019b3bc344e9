import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.js'
import { getProgramPath } from '../installed-programs.js'
import type { S3Server } from './server-bucket.js'

const run = promisify(execFile)

// Values are functions because programPath throws if Swift is not installed.
const programs = {
  account: () => getProgramPath('swift-account-server'),
  container: () => getProgramPath('swift-container-server'),
  object: () => getProgramPath('swift-object-server'),
  proxy: () => getProgramPath('swift-proxy-server'),
}
type Role = keyof typeof programs

/** OpenStack Swift with its S3 interface, one server of each kind and one device in a temporary directory. */
export class Swift implements S3Server {
  // The secret access key is the user's password in proxy-server.conf.
  readonly credentials = { accessKeyId: 'test:tester', secretAccessKey: 'testing' }
  readonly #running = new Map<Role, ChildProcess>()
  readonly #backends: string[] = []

  private constructor(
    readonly url: string,
    private readonly directory: string,
    private readonly port: string,
  ) {}

  static async start(): Promise<Swift> {
    const directory = await mkdtemp(join(tmpdir(), 'assay-swift-'))
    const port = await findFreePort()
    const swift = new Swift(`http://127.0.0.1:${port}`, directory, port)
    await mkdir(join(directory, 'devices', 'd1'), { recursive: true })
    await Promise.all((['account', 'container', 'object'] as const).map((role) => swift.#configureServer(role)))
    await writeFile(join(directory, 'proxy-server.conf'), `${swift.#createDefaults(port)}${proxySettings}`)
    for (const role of Object.keys(programs) as Role[]) swift.#spawnServer(role)
    await swift.#waitUntilReady()
    return swift
  }

  /** Stops the server that clients use. */
  async down(): Promise<void> {
    await this.#stopServer('proxy')
  }

  async up(): Promise<void> {
    if (this.#running.has('proxy')) return
    this.#spawnServer('proxy')
    await this.#waitUntilReady()
  }

  async stop(): Promise<void> {
    for (const role of [...this.#running.keys()]) await this.#stopServer(role)
    await rm(this.directory, { recursive: true, force: true })
  }

  async #configureServer(role: Exclude<Role, 'proxy'>): Promise<void> {
    const port = await findFreePort()
    this.#backends.push(`http://127.0.0.1:${port}`)
    const runRingBuilder = (...args: string[]) => run('swift-ring-builder', [`${role}.builder`, ...args], { cwd: this.directory })
    await runRingBuilder('create', '4', '1', '0')
    await runRingBuilder('add', `r1z1-127.0.0.1:${port}/d1`, '1')
    // swift-ring-builder exits with status 1 if it prints a warning.
    await runRingBuilder('rebalance').catch(() => {})
    const settings = `devices = ${join(this.directory, 'devices')}
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
[pipeline:main]
pipeline = ${role}-server
[app:${role}-server]
use = egg:swift#${role}
`
    await writeFile(join(this.directory, `${role}-server.conf`), `${this.#createDefaults(port)}${settings}`)
  }

  #createDefaults(port: string): string {
    return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${this.directory}
`
  }

  #spawnServer(role: Role): void {
    const child = spawn(programs[role](), [join(this.directory, `${role}-server.conf`)], { stdio: 'ignore' })
    this.#running.set(role, child)
  }

  async #stopServer(role: Role): Promise<void> {
    const child = this.#running.get(role)
    this.#running.delete(role)
    if (!child || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #waitUntilReady(): Promise<void> {
    for (let attempt = 0; attempt < 3_000; attempt++) {
      const urls = [this.url, ...this.#backends].map((url) => `${url}/info`)
      const responses = await Promise.allSettled(urls.map((url) => fetch(url)))
      if (responses.every(({ status }) => status === 'fulfilled')) return
      await sleep(100)
    }
    throw new Error(`Swift does not respond on port ${this.port}.`)
  }
}

// tempauth requires a cache setting but no working cache.
const proxySettings = `[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
[filter:copy]
use = egg:swift#copy
`
