import pg from 'pg'

/**
 * Returns the PostgreSQL catalog of a schema, one line per column, constraint, index, function, trigger, sequence and setting.
 * Excludes comments, function layout and partitions.
 */
export async function readCatalog(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const lines: string[] = []
    for (const statement of statements)
      lines.push(...(await client.query<{ line: string }>(statement)).rows.map(({ line }) => line))
    return lines.map(normalizeLine).sort()
  } finally {
    await client.end()
  }
}

const normalizeLine = (line: string) => line.replace(/--.*$/gm, '').replace(/\s+/g, ' ').replace(/\( /g, '(').replace(/ \)/g, ')')

const ownTables = `n.nspname = 'public' AND c.relname !~ '^(call_logs_\\d|_prisma_migrations)'`

const statements = [
  `SELECT format('relation %s.%s %s %s %s', n.nspname, c.relname, c.relkind, c.relpersistence, c.reloptions) AS line
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'S', 'v') AND ${ownTables}`,
  // Positions count only existing columns because dropped columns leave gaps.
  `SELECT format('column %s.%s %s %s %s %s default %s collation %s %s', n.nspname, c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
     format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END, pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation, a.attoptions) AS line
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND ${ownTables}`,
  `SELECT format('constraint %s.%s %s %s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)) AS line
   FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE k.contype <> 'n' AND ${ownTables}`,
  `SELECT 'index ' || i.indexdef AS line FROM pg_indexes i JOIN pg_class c ON c.relname = i.tablename JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = i.schemaname
   WHERE ${ownTables}`,
  `SELECT 'function ' || pg_get_functiondef(p.oid) AS line FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace`,
  `SELECT 'trigger ' || pg_get_triggerdef(t.oid) AS line FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE NOT t.tgisinternal AND ${ownTables}`,
  `SELECT format('type %s %s', t.typname, e.enumlabel) AS line FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid`,
]
