// Parses statements and function definitions from standard input (JSON) with the PostgreSQL parsers. Prints operations on
// distributed tables that do not name one tenant.
import { loadModule, parsePlPgSQLSync, parseSync } from 'libpg-query'

await loadModule()
const { statements, functions, distributed } = JSON.parse(Buffer.concat(await process.stdin.toArray()).toString())
const tables = new Set(distributed)

/** Variables of the current function, which look like columns to SQL. */
let variables = new Set()
const columnOf = (node) => {
  const names = node?.ColumnRef?.fields.map((field) => field.String?.sval ?? '*')
  return names && variables.has(names[0].toLowerCase()) ? undefined : names
}
const isTenant = (node) => columnOf(node)?.at(-1) === 'tenant_id'
/** The table or alias of a column, without the schema that Prisma adds. */
const aliasOf = (column) => column?.at(-2)

/** Every node of a tree, except those of nested statements. */
function* within(node) {
  if (node === null || typeof node !== 'object') return
  for (const [kind, value] of Object.entries(node)) {
    if (/^(Select|Update|Delete|Insert)Stmt$/.test(kind)) continue
    yield [kind, value]
    yield* within(value)
  }
}

/** FROM items: tables by alias, and other sources (functions, CTEs, subqueries). */
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

/** The strongest condition on tenant_id per table: 'one' value, 'many' values, or 'other' for another table. */
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
    const [left, right] = [value.lexpr?.RowExpr?.args, value.rexpr?.RowExpr?.args]
    if (operator === '=' && left && right) for (const [at, each] of left.entries()) compare(each, right[at], 'one')
    // A row comparison (tenant, …) for paging is not limited to one tenant.
    else if (value.lexpr?.RowExpr?.args.some(isTenant))
      for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'range')
  }
  if (sources.using) for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'other')
  return ties
}

/** Outer conditions on a UNION apply to each of its sides. */
function leaveOutOneTenants({ alias, subquery }, ties) {
  const tie = ties.get(alias?.aliasname) ?? ties.get(undefined)
  if (subquery.SelectStmt && (tie === 'one' || tie === 'outer'))
    Object.assign(subquery.SelectStmt, { larg: undefined, rarg: undefined })
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
    let ties = new Map()
    if (kind === 'InsertStmt') {
      const columns = (value.cols ?? []).map(({ ResTarget }) => ResTarget.name)
      // Without a column list, the statement uses all columns.
      if (tables.has(value.relation.relname) && columns.length > 0 && !columns.includes('tenant_id'))
        found.push(`inserts into ${value.relation.relname} without a tenant`)
    } else {
      const sources = sourcesOf([relation, value.fromClause, value.usingClause], known)
      ties = tiesOf(sources, [value.whereClause, value.fromClause, value.usingClause])
      const anchored = ['one', 'many', 'outer', 'range'].some((tie) => [...ties.values()].includes(tie))
      for (const [alias, table] of sources.tables) {
        const tie = ties.get(alias)
        if (value.lockingClause && tie !== 'one' && tie !== 'other' && tie !== 'outer')
          found.push(`locks ${table} of several tenants`)
        if (tie === undefined || (tie === 'other' && !anchored))
          found.push(`${kind === 'SelectStmt' ? 'reads' : 'changes'} ${table} of any tenant`)
        else if (kind !== 'SelectStmt' && table === value.relation.relname && tie !== 'one' && tie !== 'other' && tie !== 'outer')
          found.push(`changes ${table} of several tenants`)
        else if (tie === 'range') found.push(`reads ${table} across tenants`)
      }
    }
    for (const [kind, from] of within(value.fromClause)) if (kind === 'RangeSubselect') leaveOutOneTenants(from, ties)
    const { larg, rarg, ...rest } = value
    // Both sides of a UNION, which the parser returns without their node type.
    for (const side of [larg, rarg]) if (side) check({ SelectStmt: side }, known, found)
    check(rest, known, found)
  }
}

function findingsOf(statement, read = statement) {
  const found = []
  try {
    check(parseSync(read), new Set(), found)
  } catch (error) {
    found.push(`cannot be parsed: ${error.message}`)
  }
  return { statement, found: [...new Set(found)] }
}

function* partsOf(node, kind) {
  if (node === null || typeof node !== 'object') return
  for (const [name, value] of Object.entries(node)) {
    if (name === kind) yield value
    yield* partsOf(value, kind)
  }
}

// RawParseMode of PostgreSQL: a statement, an expression, assignments.
const [aStatement, anExpression] = [0, 2]
const readable = ({ query, parseMode }) => {
  if (parseMode === aStatement) return query
  return `SELECT ${parseMode === anExpression ? query : query.slice(query.indexOf(':=') + 2)}`
}

/** The statements of a function body, with the variables of the function. */
function inFunction({ name, language, definition, body }) {
  if (language === 'sql') return [findingsOf(`${name}: ${body}`, body)]
  const parsed = parsePlPgSQLSync(definition)
  variables = new Set(
    ['PLpgSQL_var', 'PLpgSQL_rec', 'PLpgSQL_row'].flatMap((kind) =>
      [...partsOf(parsed, kind)].map(({ refname }) => refname.toLowerCase()),
    ),
  )
  const dynamic = [...partsOf(parsed, 'PLpgSQL_stmt_dynexecute')].map(() => ({
    statement: `${name}: EXECUTE`,
    found: ['cannot be read'],
  }))
  const findings = [...partsOf(parsed, 'PLpgSQL_expr')].map((each) => findingsOf(`${name}: ${each.query}`, readable(each)))
  variables = new Set()
  return [...findings, ...dynamic]
}

const findings = [...statements.map((statement) => findingsOf(statement)), ...functions.flatMap(inFunction)]
console.log(JSON.stringify(findings.filter(({ found }) => found.length > 0)))
