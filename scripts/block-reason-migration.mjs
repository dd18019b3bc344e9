// Prints the SQL and the prisma/schema.prisma line that add a block reason (npm run migration:reason -- NAME). With --write,
// writes both to their files. Prisma's own `migrate dev` would have to download an engine.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const toPrismaPath = (name) => fileURLToPath(new URL(`../prisma/${name}`, import.meta.url))
// Counters have a default value, and deltas are null if nothing was counted.
const lastColumn = /^ +\w+ +BigInt(\? | +@default\(0\) +)@map\("virus_detected"\)$/m

const [reason, flag] = process.argv.slice(2)
if (!/^[a-z]+(_[a-z]+)*$/.test(reason ?? '')) {
  console.error(
    'Usage: npm run migration:reason -- NAME [--write]. NAME is a block reason in src/platform/errors/block-reasons.ts, such as encrypted_file.',
  )
  process.exit(1)
}

const schema = readFileSync(toPrismaPath('schema.prisma'), 'utf8')
const field = reason.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
const statements = []
const written = schema.replace(/^model \w+ \{.*?^\}$/gms, (model) => {
  if (!lastColumn.test(model) || model.includes(`@map("${reason}")`)) return model
  const [column, type] = lastColumn.exec(model)
  const [, table] = /@@map\("(\w+)"\)/.exec(model)
  statements.push(`ALTER TABLE "${table}" ADD COLUMN "${reason}" BIGINT${type.startsWith('?') ? '' : ' NOT NULL DEFAULT 0'};`)
  return model.replace(column, `${column}\n  ${field} BigInt${type}@map("${reason}")`)
})
const sql = statements.join('\n')

console.log(sql || `-- ${reason} already has its columns`)
if (flag === '--write' && sql) {
  const now = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const folder = `migrations/${now}_count_${reason}`
  mkdirSync(toPrismaPath(folder))
  writeFileSync(toPrismaPath(`${folder}/migration.sql`), `${sql}\n`)
  writeFileSync(toPrismaPath('schema.prisma'), written)
}
