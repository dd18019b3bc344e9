// npm run bench:preview -- FILES: measures a preview of context rules with FILES stored files (default 1,000,000).
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { previewRules } from '../../dist/features/contexts/context-preview.js'
import { startServer } from '../../dist/platform/db/embedded/server.js'
import { migrate } from '../../dist/platform/db/migrate.js'

const files = Number(process.argv[2] ?? 1_000_000)
if (!Number.isInteger(files) || files < 1)
  throw new Error(`FILES must be a whole number of at least 1, not '${process.argv[2]}'.`)
const maxMs = 2000

const folder = mkdtempSync(join(tmpdir(), 'assay-bench-preview-'))
mkdirSync(join(folder, 'data'))
const server = await startServer({ folder: join(folder, 'data'), settings: { max_wal_size: '4GB' } })
const pool = new pg.Pool({ connectionString: server.url, max: 1 })
try {
  await migrate(server.url)
  await seed()
  const rules = {
    allowedExtensions: ['txt', 'pdf'],
    maxFileSizeMb: 10,
    rejectBlankFiles: true,
    rejectCorruptFiles: true,
    scanForViruses: true,
    policy: { rejectEncryptedFiles: true, rejectActiveContent: true, acceptUnscanned: false },
  }
  const questions = {
    'nothing would be refused': {},
    'three files would be, the oldest': { maxFileSizeMb: 9 },
    'a third would be': { allowedExtensions: ['txt'] },
    'all would be': { allowedExtensions: ['png'] },
  }
  let missed = 0
  for (const [what, change] of Object.entries(questions)) {
    const times = []
    let preview
    for (let sample = 0; sample < 5; sample++) {
      const start = performance.now()
      preview = await previewRules(pool, { tenantId: 'ten_b', contextId: 'ctx_b' }, { ...rules, ...change })
      times.push(performance.now() - start)
    }
    const max = Math.max(...times)
    if (max > maxMs) missed++
    const { sample, byReason, ...counts } = preview
    console.log(`${what}: ${times.map((ms) => ms.toFixed(0)).join(', ')} ms; ${JSON.stringify(counts)}, ${sample.length} shown`)
  }
  console.log(missed === 0 ? `Each within ${maxMs} ms.` : `${missed} took longer than ${maxMs} ms.`)
} finally {
  await pool.end()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function seed() {
  await pool.query(`INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ('ten_b', 'Bench', now(), now())`)
  await pool.query(
    `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at)
     VALUES ('ctx_b', 'ten_b', 'bench', 'Bench', '{txt,pdf}', 10, now(), now())`,
  )
  for (let from = 0; from < files; from += 50_000)
    await pool.query(
      `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, created_at, updated_at, traits)
       SELECT 'file_' || lpad(to_hex(i), 26, '0'), 'ten_b', 'ctx_b', 'file of some day ' || i || CASE i % 3 WHEN 0 THEN '.pdf' ELSE '.txt' END, 'text/plain',
         CASE WHEN i < 3 THEN 10000000 ELSE 1000 + i % 100000 END, encode(sha256(i::text::bytea), 'hex'), 'ten_b/bench/2026/11/' || md5(i::text), 'key_b', now(), now(), 0
       FROM generate_series($1::int, least($1 + 50000, $2) - 1) i`,
      [from, files],
    )
  await pool.query('ANALYZE files')
}
