import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import pg from 'pg'

/** Prisma's schema engine as WebAssembly, on the database at `url`. Its glue code bears one engine in a thread's life. */
export async function openEngine(url: string, schema: { path: string; content: string }): Promise<SchemaEngine> {
  const { SchemaEngine } = await loadEngine()
  return SchemaEngine.new({ datamodels: [[schema.path, schema.content]] }, () => {}, bindAdapter()(new MigrationAdapter(url)))
}

const require = createRequire(import.meta.url)

// The one call that we need of a global which is typed among the browser's things only.
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { instantiate(bytes: Buffer, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }> }
}

async function loadEngine() {
  // Where it would tell its last words; without it a panic ends the process with a message about a missing object.
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => void console.error(message) } })
  // By hand, since the package's own entry imports .wasm as a module, which Node does behind a flag only.
  const path = require.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const { instance } = await WebAssembly.instantiate(readFileSync(join(dirname(path), 'schema_engine_bg.wasm')), {
    './schema_engine_bg.js': glue,
  })
  glue.__wbg_set_wasm(instance.exports)
  ;(instance.exports.__wbindgen_start as () => void)()
  return glue
}

// The adapter's own copy of it: bound objects of another version would not be understood.
function bindAdapter(): (factory: PrismaPg) => object {
  return createRequire(require.resolve('@prisma/adapter-pg'))('@prisma/driver-adapter-utils').bindMigrationAwareSqlAdapterFactory
}

/** Prisma's adapter with three of its faults mended, each of which breaks migrations written by hand or PostgreSQL 18. */
class MigrationAdapter extends PrismaPg {
  constructor(private readonly url: string) {
    super({ connectionString: url, max: 1 })
  }

  override async connect() {
    return whole(await super.connect())
  }

  /** Prisma's would use the main database itself where it is given by a URL, and drops the copy before leaving it. */
  override async connectToShadowDb() {
    const name = `prisma_migrate_shadow_db_${randomUUID()}`
    await this.#administer(`CREATE DATABASE "${name}"`)
    const url = new URL(this.url)
    url.pathname = `/${name}`
    const shadow = await new MigrationAdapter(url.href).connect()
    const leave = shadow.dispose.bind(shadow)
    shadow.dispose = async () => {
      await leave()
      await this.#administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
    }
    return shadow
  }

  async #administer(sql: string) {
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
}

// PostgreSQL's type "char", one byte, and text; Prisma's word for a single character.
const oneByte = 18
const text = 25
const character = 6

function whole(adapter: Awaited<ReturnType<PrismaPg['connect']>>) {
  const pool = adapter.underlyingDriver()
  // Prisma's splits scripts at every semicolon, also inside functions and strings; PostgreSQL takes a script as it is.
  const { onError } = adapter as unknown as { onError(error: unknown): never }
  adapter.executeScript = async (script) => {
    await pool.query(script).catch(onError)
  }

  // Prisma's refuses the type "char", which PostgreSQL's own catalogue is full of: read as text, handed on as a character.
  const charsOf = new Map<string, number[]>()
  const query = pool.query.bind(pool) as (config: { text: string }) => Promise<pg.QueryArrayResult>
  pool.query = (async (config: { text: string }) => {
    const result = await query(config)
    const chars = (result.fields ?? []).flatMap((field, place) => (field.dataTypeID === oneByte ? [place] : []))
    for (const place of chars) result.fields[place]!.dataTypeID = text
    charsOf.set(config.text, chars)
    return result
  }) as typeof pool.query
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async (asked) => {
    const result = await queryRaw(asked)
    for (const place of charsOf.get(asked.sql) ?? []) result.columnTypes[place] = character
    return result
  }
  return adapter
}
