import { parentPort, workerData } from 'node:worker_threads'
import type { MigrationList } from '@prisma/schema-engine-wasm'
import { openEngine } from './migrate-engine.js'

/** What a thread of the engine is asked to do. */
export interface EngineTask {
  action: 'apply' | 'diff'
  url: string
  schema: { path: string; content: string }
  migrationsList: MigrationList
}

export type EngineAnswer = { applied: string[] } | { diff: string } | { fault: string }

const filters = { externalTables: [], externalEnums: [] }

async function work({ action, url, schema, migrationsList }: EngineTask): Promise<EngineAnswer> {
  const engine = await openEngine(url, schema)
  if (action === 'apply') return { applied: (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames }
  const { stdout } = await engine.diff({
    from: { tag: 'migrations', ...migrationsList },
    to: { tag: 'schemaDatamodel', files: [schema] },
    script: true,
    exitCode: null,
    filters,
  })
  return { diff: stdout ?? '' }
}

const answer = await work(workerData).catch((error) => ({ fault: error instanceof Error ? error.message : String(error) }))
parentPort?.postMessage(answer)
// The engine's own connections would keep the thread alive.
process.exit(0)
