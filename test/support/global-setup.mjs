// Provides one PostgreSQL per run with a migrated template database. The first test file that needs it starts it
// (test/support/database.ts). This is plain JavaScript because Jest does not transform an ESM global setup.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setUp() {
  removeOrphans()
  const folder = mkdtempSync(join(tmpdir(), `assay-test-${process.pid}-`))
  process.env.ASSAY_TEST_DATABASE = folder
  const database = { folder, server: undefined }
  const watcher = watch(folder, (_event, name) => {
    if (name !== 'wanted') return
    watcher.close()
    database.server = startServerIn(folder)
  })
  globalThis.stopTestDatabase = () => stopDatabase(database, watcher)
}

async function startServerIn(folder) {
  let server
  try {
    const { startServer } = await import('../../dist/platform/db/embedded/server.js')
    const { migrate } = await import('../../dist/platform/db/migrate.js')
    mkdirSync(join(folder, 'data'))
    server = await startServer({ folder: join(folder, 'data'), settings })
    await migrate(server.url)
    writeFileSync(join(folder, 'ready'), server.url)
  } catch (error) {
    const repair = error.code === 'ERR_MODULE_NOT_FOUND' ? ' (run npm run build)' : ''
    writeFileSync(join(folder, 'failed'), `The tests' PostgreSQL did not start: ${error.message}${repair}`)
  }
  return server
}

async function stopDatabase({ folder, server }, watcher) {
  watcher.close()
  await (await server)?.stop()
  rmSync(folder, { recursive: true, force: true })
}

// Durability is disabled because the data is temporary. Test files may have several pools.
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  shared_buffers: '64MB',
  autovacuum_naptime: '1h',
}

/** Removes folders of killed runs whose servers have ended. */
function removeOrphans() {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(/^assay-test-(\d+)-/.exec(name)?.[1])
    if (pid && !isProcessAlive(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function isProcessAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}
