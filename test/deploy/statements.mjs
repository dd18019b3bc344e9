// Reads statements, as JSON on standard input, with PostgreSQL's own parser; prints what each does to distributed tables without naming one tenant.
import { loadModule, parseSync } from 'libpg-query'

await loadModule()
const { statements, distributed } = JSON.parse(Buffer.concat(await process.stdin.toArray()).toString())
const tables = new Set(distributed)

const columnOf = (node) => node?.ColumnRef?.fields.map((field) => field.String?.sval ?? '*')
const isTenant = (node) => columnOf(node)?.at(-1) === 'tenant_id'
/** The table or alias before a column; Prisma writes the schema before that. */
const aliasOf = (column) => column?.at(-2)

/** Every node of a tree, without those of statements inside it. */
function* within(node) {
  if (node === null || typeof node !== 'object') return
  for (const [kind, value] of Object.entries(node)) {
    if (/^(Select|Update|Delete|Insert)Stmt$/.test(kind)) continue
    yield [kind, value]
    yield* within(value)
  }
}

/** What stands in FROM: tables by alias, and what is no table (functions, CTEs, subqueries). */
function sourcesOf(items, ctes) {
  const sources = { tables: new Map(), others: new Set(), using: false }
  for (const [kind, value] of within(items)) {
    if (kind === 'RangeVar') {
      const alias = value.alias?.aliasname ?? value.relname
      if (tables.has(value.relname) && !ctes.has(value.relname)) sources.tables.set(alias, value.relname)
      else sources.others.add(alias)
    }
    if (kind === 'RangeFunction' || kind === 'RangeSubselect') sources.others.add(value.alias?.aliasname)
    if (kind === 'usingClause' && JSON.stringify(value).includes('"tenant_id"')) sources.using = true
  }
  return sources
}

/** For each table the strongest tie of its tenant_id: 'one' to a value, 'many' to several, 'other' to another table's. */
function tiesOf(sources, conditions) {
  const ties = new Map()
  const tie = (side, other, kind) => {
    const alias = aliasOf(columnOf(side)) ?? [...sources.tables.keys()][0]
    const column = columnOf(other)
    const from = aliasOf(column)
    const strength = () => {
      if (!column) return kind
      if (from === undefined || sources.tables.has(from)) return 'other'
      return sources.others.has(from) ? 'many' : 'outer'
    }
    if (ties.get(alias) !== 'one') ties.set(alias, strength())
  }
  const compare = (left, right, kind) => {
    if (isTenant(left)) tie(left, right, kind)
    if (isTenant(right)) tie(right, left, kind)
  }
  for (const [kind, value] of within(conditions)) {
    if (kind !== 'A_Expr') continue
    const operator = value.name?.[0]?.String?.sval
    if (value.kind === 'AEXPR_OP' && operator === '=') compare(value.lexpr, value.rexpr, 'one')
    if (value.kind === 'AEXPR_OP_ANY' || value.kind === 'AEXPR_IN') compare(value.lexpr, value.rexpr, 'many')
    // A page of rows beyond (tenant, …): not of one tenant.
    if (value.lexpr?.RowExpr?.args.some(isTenant))
      for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'range')
  }
  if (sources.using) for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'other')
  return ties
}

function check(node, ctes, found) {
  if (node === null || typeof node !== 'object') return
  for (const [kind, value] of Object.entries(node)) {
    if (!/^(Select|Update|Delete|Insert)Stmt$/.test(kind)) {
      check(value, ctes, found)
      continue
    }
    const known = new Set([...ctes, ...(value.withClause?.ctes ?? []).map(({ CommonTableExpr }) => CommonTableExpr.ctename)])
    const relation = value.relation ? [{ RangeVar: value.relation }] : []
    if (kind === 'InsertStmt') {
      const columns = (value.cols ?? []).map(({ ResTarget }) => ResTarget.name)
      if (tables.has(value.relation.relname) && !columns.includes('tenant_id'))
        found.push(`inserts into ${value.relation.relname} without a tenant`)
    } else {
      const sources = sourcesOf([relation, value.fromClause, value.usingClause], known)
      const ties = tiesOf(sources, [value.whereClause, value.fromClause, value.usingClause])
      const anchored = ['one', 'many', 'outer', 'range'].some((tie) => [...ties.values()].includes(tie))
      for (const [alias, table] of sources.tables) {
        const tie = ties.get(alias)
        if (tie === undefined || (tie === 'other' && !anchored))
          found.push(`${kind === 'SelectStmt' ? 'reads' : 'changes'} ${table} of any tenant`)
        else if (kind !== 'SelectStmt' && table === value.relation.relname && tie !== 'one' && tie !== 'other' && tie !== 'outer')
          found.push(`changes ${table} of several tenants`)
        else if (tie === 'range') found.push(`reads ${table} across tenants`)
      }
    }
    check(value, known, found)
  }
}

const findings = statements.map((statement) => {
  const found = []
  try {
    check(parseSync(statement), new Set(), found)
  } catch (error) {
    found.push(`cannot be parsed: ${error.message}`)
  }
  return { statement, found: [...new Set(found)] }
})
console.log(JSON.stringify(findings.filter(({ found }) => found.length > 0)))
