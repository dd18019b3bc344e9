// npm run chaos -- [--seed N] [--seconds 300]: runs two replicas under load while PostgreSQL and replicas are killed and frozen,
// connections are closed, and clocks are moved. Tenants are deleted, quotas change, files are held, trashed, restored, purged and
// expired, new YARA rules cause rescans (rescans.mjs), and webhooks receive events (webhooks.mjs). Afterwards, confirmed files
// must exist once, held files must exist, no file may be purged early, events and deliveries must be complete and in order, and
// counters must match. Otherwise, the script prints the errors and exits with status 1.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Lives } from './lives.mjs'
import { runAdminCommand, startDatabase, startReplica } from './parts.mjs'
import { openRules, Rescans } from './rescans.mjs'
import { Webhooks } from './webhooks.mjs'

const hour = 3_600_000
const answerMs = 45_000

/** Creates a seeded random generator. The order of faults is reproducible, but not their exact timing. */
function createRandom(seed) {
  let state = seed % 2_147_483_647 || 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Runs the chaos test and returns statistics and errors. */
async function runChaos({ seed, seconds, clients = 10, say }) {
  const random = createRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'assay-chaos-'))
  const database = await startDatabase(folder)
  const env = {
    DATABASE_URL: database.url,
    STORAGE_URL: `file://${join(folder, 'blobs')}`,
    MASTER_KEY: randomBytes(32).toString('base64'),
    SCANNER_URL: 'yara:',
    RULES_DIR: openRules(folder),
    RESCAN_MB_PER_SECOND: '1000',
    RECONCILE_INTERVAL_HOURS: '0',
    LOG_LEVEL: 'error',
    DATABASE_POOL_SIZE: '8',
    WEBHOOK_ALLOW_PRIVATE: 'true',
  }
  const runCommand = (...args) => runAdminCommand({ ...env, DATA_DIR: mkdtempSync(join(folder, 'admin-')) }, ...args)
  const replicas = []
  const faults = []
  let run
  const counts = { uploads: 0, repeats: 0, deletions: 0, restored: 0, held: 0, events: 0, tenants: 0, sweeps: 0, faults: {} }
  try {
    for (let index = 0; index < 2; index++) replicas.push(await startReplica(env, folder))
    run = {
      replicas,
      faults,
      counts,
      command: runCommand,
      over: false,
      files: new Map(),
      deleted: [],
      trashed: [],
      happened: 0,
      slowest: 0,
    }
    const [busy, other] = [await createTenant(run, 'busy'), await createTenant(run, 'other')]
    await requestUntilAnswered(run, (url) =>
      request(url, other, '/contexts/notes/policy', toJsonRequest('PATCH', { trash_days: 7 })),
    )
    other.hasTrash = true
    const living = await createTenant(run, 'living')
    run.lives = new Lives({ run, tenant: living, databaseUrl: database.url, ask: request, requestUntilAnswered })
    const scanned = await createTenant(run, 'scanned')
    run.rescans = new Rescans({ run, tenant: scanned, rules: env.RULES_DIR, ask: request, requestUntilAnswered })
    run.webhooks = new Webhooks({ run, ask: request, requestUntilAnswered })
    await run.webhooks.open([busy, other, living])
    const work = [
      run.lives.runClient(),
      run.rescans.runClient(),
      ...Array.from({ length: clients }, (_, index) => runUploader(run, index % 3 === 0 ? other : busy, index)),
      changeQuotas(run, busy),
      runSweeps(run),
      deleteTenants(run),
      measureNeighborLatency(run, database.url, busy, other),
    ]
    const readers = [busy, other].map((tenant) => startReader(run, tenant))
    const until = performance.now() + seconds * 1000
    for (const step of scheduleFaults(random, until)) await step({ database, replicas, random, counts, say, run })
    run.over = true
    for (const replica of replicas) replica.clock(0)
    say('everything is left alone now')
    await Promise.all(work)
    await run.rescans.finish(database.url)
    await verifyFinalState(run, database.url)
    await verifyEvents(run, database.url, readers)
    return {
      seed,
      seconds,
      ...counts,
      lives: run.lives.counts,
      rescans: run.rescans.counts,
      webhooks: run.webhooks.counts,
      files: run.files.size,
      slowestNeighbourMs: Math.round(run.slowest),
      faults,
      logged: (faults.join().match(/req_\w+/g) ?? []).flatMap((id) => replicas.flatMap((replica) => replica.logged(id))),
    }
  } finally {
    run?.webhooks?.close()
    await Promise.allSettled(replicas.map((replica) => replica.stop()))
    await database.stop().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Yields faults in random order with pauses between them. */
function* scheduleFaults(random, until) {
  const pickRandom = (items) => items[Math.floor(random() * items.length)]
  const happenings = {
    'replica killed': ({ replicas }) => pickRandom(replicas).kill(),
    'replica frozen': ({ replicas }) => pickRandom(replicas).freeze(pickRandom([1_000, 4_000, 20_000])),
    'database killed': ({ database }) => database.kill(),
    'database frozen': ({ database }) => database.freeze(pickRandom([500, 2_000, 12_000])),
    'connections cut': async ({ database }) => database.cut(pickRandom([0.3, 1]), random),
    'clock moved': async ({ replicas }) => pickRandom(replicas).clock(pickRandom([-26, -2, 3, 50, 80_000]) * hour),
    'clock set right': async ({ replicas }) => pickRandom(replicas).clock(0),
  }
  while (performance.now() < until) {
    const name = pickRandom(Object.keys(happenings))
    const pause = 300 + random() * 2_500
    yield async (world) => {
      world.counts.faults[name] = (world.counts.faults[name] ?? 0) + 1
      world.say(name)
      world.run.happened++
      await happenings[name](world)
      world.run.happened++
      await sleep(pause)
    }
  }
}

async function createTenant(run, name) {
  const { result } = await run.command('tenant', 'create', '--name', name)
  const tenant = { id: result.tenant_id, key: result.api_key, name }
  const context = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  const created = await requestUntilAnswered(run, (url) =>
    request(url, tenant, '/contexts', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(context),
    }),
  )
  if (created.status !== 201 && created.status !== 409)
    throw new Error(`The context was not created: ${JSON.stringify(created.body)}`)
  return tenant
}

async function request(url, tenant, path, init = {}) {
  const response = await fetch(`${url}/api/v1${path}`, {
    ...init,
    headers: { authorization: `Bearer ${tenant.key}`, ...init.headers },
    signal: AbortSignal.timeout(answerMs),
  })
  return { status: response.status, body: await response.json() }
}

/** Retries a request on alternating replicas until one responds without an infrastructure error. */
async function requestUntilAnswered(run, request) {
  for (let tries = 0; ; tries++) {
    const replica = run.replicas[(tries + Math.floor(Math.random() * 2)) % run.replicas.length]
    const response = await request(replica.url).catch(() => undefined)
    if (response && response.status < 500 && response.status !== 429) return response
    if (response && response.status === 500) run.faults.push(`returned 500: ${JSON.stringify(response.body)}`)
    run.counts.repeats++
    await sleep(100 + Math.random() * 400)
  }
}

/** Uploads files with unique keys and names, retried until a response arrives, and deletes some. */
async function runUploader(run, tenant, index) {
  for (let turn = 0; !run.over; turn++) {
    const name = `${index}-${turn}.txt`
    const content = Buffer.from(`${name} ${randomBytes(20 + Math.floor(Math.random() * 20_000)).toString('base64')}`)
    const response = await requestUntilAnswered(run, (url) => {
      const form = new FormData()
      form.append('context', 'notes')
      form.append('file', new Blob([content]), name)
      return request(url, tenant, '/files/upload', {
        method: 'POST',
        body: form,
        headers: { 'Idempotency-Key': `${tenant.id}-${name}` },
      })
    })
    // An upload may be rejected because the quota is exhausted.
    if (response.status !== 201) {
      if (response.status !== 422) run.faults.push(`an upload returned ${response.status}: ${JSON.stringify(response.body)}`)
      continue
    }
    run.counts.uploads++
    const fileId = response.body.data.file_id
    run.files.set(fileId, { tenant, name, digest: createHash('sha256').update(content).digest('hex') })
    await request(run.replicas[turn % 2].url, tenant, `/files/${fileId}`).catch(() => {})
    if (turn % 5 === 4) await deleteFile(run, tenant, fileId)
    else if (turn % 7 === 3) await holdFile(run, tenant, fileId)
  }
}

async function deleteFile(run, tenant, fileId) {
  const file = run.files.get(fileId)
  run.files.delete(fileId)
  const response = await requestUntilAnswered(run, (url) => request(url, tenant, `/files/${fileId}`, { method: 'DELETE' }))
  // A 404 means that an earlier attempt without a response succeeded.
  if (response.status !== 200 && response.status !== 404) run.faults.push(`a deletion returned ${response.status}`)
  else if (tenant.hasTrash && file) await restoreSomeFiles(run, file, fileId)
  else run.deleted.push({ tenant, fileId })
  run.counts.deletions++
}

/** Restores every other file and leaves the others in the trash. */
async function restoreSomeFiles(run, file, fileId) {
  const { tenant } = file
  if (run.counts.deletions % 2) return void run.trashed.push({ tenant, fileId })
  const response = await requestUntilAnswered(run, (url) => request(url, tenant, `/trash/${fileId}/restore`, { method: 'POST' }))
  // A 404 may mean that an earlier attempt succeeded, which the final check verifies.
  if (response.status !== 200 && response.status !== 404) run.faults.push(`a restore returned ${response.status}`)
  run.files.set(fileId, file)
  run.counts.restored++
}

/** Puts a file on hold and tries to delete it. The file must exist at the end. */
async function holdFile(run, tenant, fileId) {
  const held = await requestUntilAnswered(run, (url) =>
    request(url, tenant, `/files/${fileId}/hold`, toJsonRequest('PUT', { reason: 'A case' })),
  )
  if (held.status >= 400) run.faults.push(`a hold returned ${held.status}: ${JSON.stringify(held.body)}`)
  const { status, body } = await requestUntilAnswered(run, (url) =>
    request(url, tenant, `/files/${fileId}`, { method: 'DELETE' }),
  )
  if (status !== 409 || body.error.code !== 'on_hold')
    run.faults.push(`${fileId} is on hold, and its deletion returned ${status}`)
  run.counts.held++
}

const toJsonRequest = (method, body) => ({ method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })

/** Follows a tenant's events on alternating replicas from the last cursor. */
function startReader(run, tenant) {
  const abort = new AbortController()
  const sequences = []
  const over = (async () => {
    for (let turn = 0; !abort.signal.aborted; turn++) {
      try {
        const headers = {
          accept: 'text/event-stream',
          authorization: `Bearer ${tenant.key}`,
          'last-event-id': String(sequences.at(-1) ?? 0),
        }
        const url = run.replicas[turn % 2].url
        const response = await fetch(`${url}/api/v1/events`, {
          headers,
          signal: AbortSignal.any([abort.signal, AbortSignal.timeout(20_000)]),
        })
        let rest = ''
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          const blocks = (rest + chunk).split('\n\n')
          rest = blocks.pop()
          for (const block of blocks) {
            const id = /^id: (\d+)$/m.exec(block)?.[1]
            if (id) sequences.push(Number(id))
          }
        }
      } catch {
        await sleep(200)
      }
    }
  })()
  const endReading = async () => {
    abort.abort()
    await over
    return sequences
  }
  return { tenant, sequences, end: endReading }
}

/** Checks that events are complete, unique and in order, with one event per change and verdict. */
async function verifyEvents(run, databaseUrl, readers) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  for (const { tenant, sequences, end } of readers) {
    const { rows } = await client.query('SELECT journal_length::int AS length FROM tenant_heads WHERE tenant_id = $1', [
      tenant.id,
    ])
    for (let tries = 0; tries < 300 && (sequences.at(-1) ?? 0) < rows[0].length; tries++) await sleep(100)
    await end()
    const wrong = sequences.findIndex((sequence, index) => sequence !== index + 1)
    if (wrong >= 0) run.faults.push(`the reader of '${tenant.name}' received ${sequences[wrong]} as number ${wrong + 1}`)
    if (sequences.length !== rows[0].length)
      run.faults.push(`the reader of '${tenant.name}' received ${sequences.length} of ${rows[0].length} events`)
    run.counts.events += sequences.length
  }
  const unlike = await client.query(
    `SELECT tenant_id, subject, a.times AS audited, j.times AS told FROM
       (SELECT tenant_id, entity_id AS subject, count(*) AS times FROM audit_logs GROUP BY 1, 2) a
       FULL JOIN (SELECT tenant_id, subject, count(*) AS times FROM journal WHERE type NOT IN ('file.rejected', 'quota.threshold') GROUP BY 1, 2) j USING (tenant_id, subject)
     WHERE a.times IS DISTINCT FROM j.times`,
  )
  for (const { subject, audited, told: reported } of unlike.rows)
    run.faults.push(`${subject} has ${audited ?? 0} audit entries and ${reported ?? 0} events`)
  await run.webhooks.verify(client)
  await client.end()
}

/** Lowers the quota of one tenant to zero and raises it again. */
async function changeQuotas(run, tenant) {
  for (let turn = 0; !run.over; turn++) {
    const body = JSON.stringify({ storage_quota_mb: turn % 4 === 3 ? 1 : 1024 })
    const response = await requestUntilAnswered(run, (url) =>
      request(url, tenant, '/tenant', { method: 'PATCH', body, headers: { 'content-type': 'application/json' } }),
    )
    if (response.status !== 200) run.faults.push(`a quota returned ${response.status}: ${JSON.stringify(response.body)}`)
    await sleep(700)
  }
}

async function runSweeps(run) {
  while (!run.over) {
    await run.command('sweep')
    await run.command('expire')
    run.counts.sweeps++
    await sleep(4_000)
  }
}

async function deleteTenants(run) {
  for (let turn = 0; !run.over; turn++) {
    const tenant = await createTenant(run, `gone ${turn}`)
    let deleted = false
    const calls = Array.from({ length: 3 }, async (_, index) => {
      for (let call = 0; !deleted; call++) {
        const form = new FormData()
        form.append('context', 'notes')
        form.append('file', new Blob(['text']), `${index}-${call}.txt`)
        const url = run.replicas[call % 2].url
        await request(url, tenant, '/files/upload', { method: 'POST', body: form }).catch(() => {})
        await request(url, tenant, '/files').catch(() => {})
      }
    })
    await sleep(1_500)
    await run.command('tenant', 'delete', '--tenant', tenant.id, '--name', tenant.name)
    deleted = true
    await Promise.all(calls)
    run.deleted.push({ tenant })
    run.counts.tenants++
  }
}

/** Occasionally locks one tenant's rows and prints another tenant's latency without asserting it. */
async function measureNeighborLatency(run, databaseUrl, held, other) {
  while (!run.over) {
    await sleep(5_000)
    const client = new pg.Client({ connectionString: databaseUrl })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM tenants WHERE tenant_id = $1 FOR UPDATE', [held.id])
      const before = run.happened
      const began = performance.now()
      const response = await request(run.replicas[0].url, other, '/files')
      // Calls during other faults are excluded.
      if (response.status === 200 && before % 2 === 0 && before === run.happened)
        run.slowest = Math.max(run.slowest, performance.now() - began)
      await client.query('ROLLBACK')
    } catch {
      // An injected fault caused the failure.
    }
    await client.end().catch(() => {})
  }
}

async function verifyFinalState(run, databaseUrl) {
  const { faults } = run
  for (const [fileId, { tenant, digest }] of run.files) {
    const { status, body } = await requestUntilAnswered(run, (url) => request(url, tenant, `/files/${fileId}`))
    if (status !== 200) faults.push(`${fileId} was accepted and is answered with ${status}`)
    else {
      const content = Buffer.from(await (await fetch(body.data.download_url)).arrayBuffer())
      if (createHash('sha256').update(content).digest('hex') !== digest) faults.push(`${fileId} comes back as something else`)
    }
  }
  for (const { tenant, fileId } of run.deleted) {
    if (fileId === undefined) continue
    const { status } = await requestUntilAnswered(run, (url) => request(url, tenant, `/files/${fileId}/metadata`))
    if (status !== 404) faults.push(`${fileId} was deleted and is answered with ${status}`)
  }
  for (const { tenant, fileId } of run.trashed) {
    const { status } = await requestUntilAnswered(run, (url) =>
      request(url, tenant, `/trash/${fileId}/restore`, { method: 'POST' }),
    )
    if (status !== 200) faults.push(`${fileId} was in the trash, and its restore is answered with ${status}`)
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const twice = await client.query(
    'SELECT tenant_id, original_filename, count(*) AS times FROM files GROUP BY 1, 2 HAVING count(*) > 1',
  )
  for (const { original_filename: name, times } of twice.rows)
    faults.push(`'${name}' was uploaded once and is there ${times} times`)
  const due = await run.command('expire')
  if (!('deleted' in due.result)) faults.push(`what is due was not deleted: ${JSON.stringify(due.result)}`)
  await run.lives.verify(client)
  await run.rescans.verify(client)
  const ahead = await client.query(
    `SELECT 1 FROM files f WHERE NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = f.tenant_id AND h.file_id = f.file_id) AND (created_at > now() + interval '1 minute' OR created_at < now() - interval '1 hour')`,
  )
  if (ahead.rowCount > 0) faults.push(`${ahead.rowCount} files are dated by a clock that was wrong`)
  const tables = await client.query(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' WHERE c.relkind = 'r' AND c.relname <> 'blob_garbage'`,
  )
  const deletedTenants = run.deleted.flatMap(({ tenant, fileId }) => (fileId === undefined ? [tenant.id] : []))
  for (const { name } of tables.rows) {
    const { rowCount } = await client.query(`SELECT 1 FROM ${name} WHERE tenant_id = ANY($1)`, [deletedTenants])
    if (rowCount > 0) faults.push(`${rowCount} rows of deleted tenants are in ${name}`)
  }
  // Simulates the passage of several hours so that interrupted work is due.
  await client.query('UPDATE blob_garbage SET due_at = now()')
  await client.end()
  const swept = await run.command('sweep')
  if (swept.result.failed > 0) faults.push(`the sweep could not remove ${swept.result.failed} blobs`)
  const verified = await run.command('verify', '--deep')
  for (const [name, count] of Object.entries(verified.result)) if (count !== 0) faults.push(`verify says ${name}: ${count}`)
}

const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string' } } })
const options = { seed: Number(values.seed ?? Date.now() % 1_000_000), seconds: Number(values.seconds ?? 300) }
const report = await runChaos({ ...options, say: (what) => console.error(what) })
console.log(JSON.stringify(report, null, 2))
process.exit(report.faults.length === 0 ? 0 : 1)
