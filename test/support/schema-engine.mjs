// Worker thread that runs Prisma's schema engine (WebAssembly), which `prisma migrate deploy` uses. Tests compare its results
// with the service's migrations.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

const require = createRequire(import.meta.url)
const filters = { externalTables: [], externalEnums: [] }

async function runAction({ action, url, schema, migrationsList }) {
  const engine = await openEngine(url, schema)
  if (action === 'apply') return { applied: (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames }
  const from = { tag: 'migrations', ...migrationsList }
  const to = { tag: 'schemaDatamodel', files: [schema] }
  return { diff: (await engine.diff({ from, to, script: true, exitCode: null, filters })).stdout ?? '' }
}

/** The generated bindings support one engine per thread. */
async function openEngine(url, schema) {
  // Loaded manually because the package imports .wasm modules, which Node.js supports only behind a flag.
  globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: (message) => void console.error(message) }
  const path = require.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const wasm = readFileSync(join(dirname(path), 'schema_engine_bg.wasm'))
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': glue })
  glue.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  // The adapter does not recognize objects from another version of this package.
  const utils = createRequire(require.resolve('@prisma/adapter-pg'))('@prisma/driver-adapter-utils')
  const adapter = utils.bindMigrationAwareSqlAdapterFactory(new MigrationAdapter(url))
  return glue.SchemaEngine.new({ datamodels: [[schema.path, schema.content]] }, () => {}, adapter)
}

/** Prisma's adapter with three fixes, without which custom migrations or PostgreSQL 18 fail. */
class MigrationAdapter extends PrismaPg {
  #url

  constructor(url) {
    super({ connectionString: url, max: 1 })
    this.#url = url
  }

  async connect() {
    return patchAdapter(await super.connect())
  }

  /** Prisma's method uses the main database if it is configured by URL, and drops the shadow database while connected to it. */
  async connectToShadowDb() {
    const name = `prisma_migrate_shadow_db_${randomUUID()}`
    await this.#runOnServer(`CREATE DATABASE "${name}"`)
    const url = new URL(this.#url)
    url.pathname = `/${name}`
    const shadow = await new MigrationAdapter(url.href).connect()
    const leave = shadow.dispose.bind(shadow)
    shadow.dispose = async () => {
      await leave()
      await this.#runOnServer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
    }
    return shadow
  }

  async #runOnServer(sql) {
    const client = new pg.Client({ connectionString: this.#url })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
}

// Type id of PostgreSQL's one-byte "char" type, which is read as text, and Prisma's type for a character.
const oneByte = 18
const text = 25
const character = 6

function patchAdapter(adapter) {
  const pool = adapter.underlyingDriver()
  // Prisma's method splits scripts at every semicolon, even within functions and strings.
  adapter.executeScript = async (script) => {
    await pool.query(script).catch((error) => adapter.onError(error))
  }

  // Prisma's method rejects the catalog type "char", so it is read as text and returned as a character.
  const charsOf = new Map()
  const query = pool.query.bind(pool)
  pool.query = async (config) => {
    const result = await query(config)
    const chars = (result.fields ?? []).flatMap((field, place) => (field.dataTypeID === oneByte ? [place] : []))
    for (const place of chars) result.fields[place].dataTypeID = text
    charsOf.set(config.text, chars)
    return result
  }
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async (requested) => {
    const result = await queryRaw(requested)
    for (const place of charsOf.get(requested.sql) ?? []) result.columnTypes[place] = character
    return result
  }
  return adapter
}

const response = await runAction(workerData).catch((error) => ({ fault: error instanceof Error ? error.message : String(error) }))
parentPort.postMessage(response)
// The engine's open connections would keep the thread alive.
process.exit(0)
