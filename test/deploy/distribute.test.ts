import { afterEach, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { databaseCommands } from '../../src/cli/database-commands.js'
import { distributedTables, localTables, referenceTables } from '../../src/platform/db/distribution.js'
import { installFakeCitus } from '../support/fake-citus.js'
import { World } from '../support/world.js'

// Citus is not available to tests, so a fake rejects the same operations as Citus (test/support/fake-citus.ts).

let world: World
let client: pg.Client
beforeEach(async () => {
  world = await World.open()
  await installFakeCitus(world.databaseUrl)
  client = await world.database.connectDedicated('test')
})
afterEach(async () => {
  await client.end()
  await world.close()
})

const select = async <Row extends object = Record<string, unknown>>(text: string) => (await client.query<Row>(text)).rows

/** Runs `admin distribute` and returns its result with the printed lines. */
async function runDistribute(values: Record<string, boolean> = {}, print: (message: string) => void = () => {}) {
  const lines: string[] = []
  const { result, error } = await databaseCommands.distribute!.run(
    {
      config: world.config,
      database: world.database,
      services: world.app.services,
      print: (message) => {
        lines.push(message)
        print(message)
      },
    },
    values,
  )
  return { result, error, lines }
}

/** Returns constraints, triggers and placements for comparison. */
const readConstraints = () =>
  select(`SELECT 'key' AS what, conrelid::regclass::text AS on, conname::text AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f'
    UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'table', table_name::text, citus_table_type, '' FROM citus_tables ORDER BY 1, 2, 3`)

const listPlacements = async (kind: string) =>
  (
    await select<{ name: string }>(
      `SELECT table_name::text AS name FROM citus_tables WHERE citus_table_type = '${kind}' ORDER BY 1`,
    )
  ).map(({ name }) => name)

test('keeps all foreign keys after distributing an empty database', async () => {
  const before = (await readConstraints()) as { definition: string }[]
  const { result, lines } = await runDistribute()
  expect(result).toMatchObject({ reference: [...referenceTables], distributed: [...distributedTables], self_test: 'passed' })
  expect(await listPlacements('reference')).toEqual([...referenceTables].sort())
  expect(await listPlacements('distributed')).toEqual([...distributedTables].sort())
  expect(await listPlacements('local')).toEqual([])
  const keys = ((await readConstraints()) as { what: string; definition: string }[]).filter(({ what }) => what === 'key')
  expect(keys).toEqual(before.map((key) => ({ ...key, definition: key.definition.replace(' ON UPDATE CASCADE', '') })))
  expect(await select(`SELECT what FROM calls WHERE what LIKE 'distributed %' ORDER BY call_id LIMIT 2`)).toEqual([
    { what: 'distributed tenant_heads with none' },
    { what: 'distributed files with tenant_heads' },
  ])
  expect(lines).toHaveLength(referenceTables.length + distributedTables.length + 2)
  expect(lines.at(-2)).toMatch(
    new RegExp(`^${lines.length - 2} of ${lines.length - 2}: webhook_deliveries, distributed by tenant, in `),
  )
  const calls = (await select('SELECT FROM calls')).length
  expect((await runDistribute()).result).toMatchObject({ reference: [], distributed: [], functions: [] })
  expect(await select('SELECT FROM calls')).toHaveLength(calls)
})

test('keeps service-wide tables on the coordinator and creates immutable functions on every node', async () => {
  await runDistribute()
  for (const table of localTables)
    expect([...(await listPlacements('reference')), ...(await listPlacements('distributed'))]).not.toContain(table)
  const functions = await select<{ what: string }>(`SELECT what FROM calls WHERE what LIKE 'function %' ORDER BY 1`)
  expect(functions).toEqual([{ what: 'function ledger_threshold(bigint,bigint)' }, { what: 'function report_traits(jsonb)' }])
})

test('distributes tables that are already local Citus tables', async () => {
  await client.query(`SET citus.multi_shard_modify_mode TO 'sequential'; SELECT create_reference_table('tenants')`)
  expect(await listPlacements('local')).toContain('tenant_heads')
  await runDistribute()
  expect(await listPlacements('local')).toEqual([])
  expect(await listPlacements('distributed')).toEqual([...distributedTables].sort())
})

test('does not change constraints if a table cannot be distributed', async () => {
  const before = await readConstraints()
  await client.query(`INSERT INTO failing VALUES ('journal')`)
  await expect(runDistribute()).rejects.toThrow('distribution of "journal" failed')
  expect(await readConstraints()).toEqual(before)
  const tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  const { body } = await tenant.admin.upload('notes', 'a.txt', 'text')
  expect((await tenant.admin.delete(`/files/${body.data.file_id}`)).status).toBe(200)
  await client.query('DELETE FROM failing')
  await runDistribute()
  expect(await listPlacements('distributed')).toEqual([...distributedTables].sort())
})

test("restores the operator's triggers after distributing a table", async () => {
  await client.query(`CREATE FUNCTION public.do_nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
  await client.query('CREATE TRIGGER of_operator AFTER INSERT ON files FOR EACH ROW EXECUTE FUNCTION public.do_nothing()')
  const triggers = `SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgname = 'of_operator'`
  const before = await select(triggers)
  const { result } = await runDistribute()
  expect(result).toMatchObject({ triggers: [{ table: 'files', name: 'of_operator' }] })
  expect(await select(triggers)).toEqual(before)
})

test('loses no files if tables are distributed while the service is in use', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  let isOver = false
  const stored: string[] = []
  const uploads = Array.from({ length: 4 }, async (_, index) => {
    for (let call = 0; !isOver; call++) {
      const { status, body } = await tenant.admin.upload('notes', `${index}-${call}.txt`, 'text')
      if (status === 201) stored.push(body.data.file_id)
      else expect(status).toBe(503)
      if (call % 3 === 0 && status === 201) await tenant.admin.delete(`/files/${stored.pop()}`)
    }
  })
  await runDistribute()
  isOver = true
  await Promise.all(uploads)
  for (const id of stored) expect((await tenant.admin.get(`/files/${id}/metadata`)).status).toBe(200)
  await world.app.services.fold.foldNow({ everyTenant: true })
  expect(await world.app.services.storageHealth.verify({ readBlobs: true, recomputeHashes: true })).toEqual({
    countersDrift: 0,
    filesWithoutBlob: 0,
    blobsWithoutFile: 0,
    corrupted: 0,
    journalDrift: 0,
  })
})

test('waits for a table that another transaction is using before distributing it', async () => {
  const other = await world.database.connectDedicated('test')
  await other.query('BEGIN')
  await other.query('LOCK TABLE files IN ACCESS SHARE MODE')
  const { lines } = await runDistribute({}, (line) => {
    if (line.startsWith('Other transactions are using the tables.')) void other.query('COMMIT')
  })
  expect(lines[0]).toBe('Other transactions are using the tables. Retrying in 3 s (attempt 2 of 20).')
  expect(await listPlacements('distributed')).toEqual([...distributedTables].sort())
  await other.end()
})

test('prints the distribution plan without changing anything if --dry-run is set', async () => {
  const before = await readConstraints()
  const { result } = await runDistribute({ 'dry-run': true })
  expect(result).toMatchObject({
    dry_run: true,
    reference: [...referenceTables],
    distributed: [...distributedTables],
    triggers: [],
  })
  expect(result.foreign_keys).toContainEqual({
    table: 'files',
    name: 'files_tenant_id_context_id_fkey',
    definition: 'FOREIGN KEY (tenant_id, context_id) REFERENCES file_contexts(tenant_id, context_id) ON DELETE RESTRICT',
  })
  expect(await readConstraints()).toEqual(before)
  expect(await select('SELECT FROM calls')).toEqual([])
})

test('reports the state of the cluster before and after the tables are distributed if --check is set', async () => {
  const first = (await runDistribute({ check: true })).result as Record<string, Record<string, unknown>>
  expect(first).toMatchObject({
    versions: { postgresql: expect.stringMatching(/^PostgreSQL /), citus_extension: 'stand-in', citus: 'stand-in' },
    settings: { synchronous_commit: expect.any(String), 'citus.shard_count': null },
    nodes: [{ nodename: 'localhost' }],
    tables: { placed: {}, missing: [...referenceTables, ...distributedTables], local: [...localTables] },
    functions: { 'report_traits(jsonb)': 'coordinator' },
  })
  await runDistribute()
  const after = (await runDistribute({ check: true })).result
  expect(after).toMatchObject({
    tables: { placed: { files: 'distributed', tenants: 'reference' }, missing: [] },
    functions: { 'report_traits(jsonb)': 'on every node' },
  })
  await expect(runDistribute({ check: true, 'dry-run': true })).rejects.toThrow(
    '--dry-run and --check cannot be combined. Use one of them.',
  )
})
