import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type EmbeddedServer, startServer } from '../../src/platform/db/embedded/server.js'
import { migrate } from '../../src/platform/db/migrate.js'

/** A migrated PostgreSQL with a streaming replica. */
export class ReplicatedDatabase {
  readonly primary: EmbeddedServer
  replica: EmbeddedServer
  readonly #folder: string

  private constructor(folder: string, primary: EmbeddedServer, replica: EmbeddedServer) {
    this.#folder = folder
    this.primary = primary
    this.replica = replica
  }

  static async start(): Promise<ReplicatedDatabase> {
    const folder = mkdtempSync(join(tmpdir(), 'assay-replicated-'))
    const [one, other] = ['primary', 'replica'].map((name) => join(folder, name))
    for (const each of [one, other]) mkdirSync(each!)
    const first = await startServer({ folder: one! })
    await migrate(first.url)
    await first.stop()
    cpSync(join(one!, 'postgres'), join(other!, 'postgres'), { recursive: true })
    // PostgreSQL requires this mode, which cpSync of Node.js 24 does not copy for folders.
    chmodSync(join(other!, 'postgres'), 0o700)
    writeFileSync(join(other!, 'postgres', 'standby.signal'), '')
    const primary = await startServer({ folder: one! })
    return new ReplicatedDatabase(folder, primary, await startReplica(other!, primary))
  }

  /** Pauses replay, so that the replica responds but receives no changes. */
  pause = () => this.#runOnReplica('SELECT pg_wal_replay_pause()')
  resume = () => this.#runOnReplica('SELECT pg_wal_replay_resume()')

  async startReplicaAgain(): Promise<void> {
    this.replica = await startReplica(join(this.#folder, 'replica'), this.primary)
  }

  async stop(): Promise<void> {
    await this.replica.stop()
    await this.primary.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #runOnReplica(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.replica.url })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
}

const startReplica = (folder: string, primary: EmbeddedServer): Promise<EmbeddedServer> =>
  startServer({
    folder,
    settings: { primary_conninfo: `host=${primary.socketFolder} port=5432 user=assay`, wal_retrieve_retry_interval: '100ms' },
  })
