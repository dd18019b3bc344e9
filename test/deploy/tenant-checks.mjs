// Finds operations on distributed tables that do not name one tenant.
import { getColumn, getLastName, isStatement, walkNodes } from './parse-tree.mjs'

/** Sorts FROM items into tables by alias and other sources (functions, CTEs, subqueries). */
function sortSources(items, ctes, tables) {
  const sources = { tables: new Map(), others: new Set(), using: false }
  for (const [kind, value] of walkNodes(items)) {
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

/** Yields the nodes of conditions that always hold, which excludes nodes below OR and NOT. */
function* findCertainNodes(conditions, uncertain) {
  if (conditions === null || typeof conditions !== 'object') return
  for (const [kind, node] of Object.entries(conditions)) {
    if (isStatement(kind)) continue
    if (kind === 'BoolExpr' && node.boolop !== 'AND_EXPR') {
      uncertain.push(node)
      continue
    }
    yield [kind, node]
    yield* findCertainNodes(node, uncertain)
  }
}

// Kinds of conditions from weakest to strongest.
const strengths = ['outer', 'joined', 'range', 'same', 'values', 'one']

/**
 * Returns the kind of the tenant_id condition per table. 'one': a value. 'values': a list of values. 'same': another distributed
 * table of the FROM clause. 'joined': a subquery, CTE, function or reference table. 'outer': a column of an outer statement.
 * 'range': a comparison of rows.
 */
function findTenantConditions(sources, conditions, variables) {
  const ties = new Map()
  const column = (node) => getColumn(node, variables)
  const isTenant = (node) => column(node)?.at(-1) === 'tenant_id'
  const kindOf = (other, kind) => {
    const names = column(other)
    if (!names) return kind
    const from = names.at(-2)
    if (from === undefined || sources.tables.has(from)) return 'same'
    return sources.others.has(from) ? 'joined' : 'outer'
  }
  const tie = (side, other, kind) => {
    const alias = column(side).at(-2) ?? [...sources.tables.keys(), ...sources.others][0]
    const found = kindOf(other, kind)
    if (!ties.has(alias) || strengths.indexOf(found) > strengths.indexOf(ties.get(alias))) ties.set(alias, found)
  }
  const compare = (left, right, kind) => {
    if (isTenant(left)) tie(left, right, kind)
    if (isTenant(right)) tie(right, left, kind)
  }
  const uncertain = []
  for (const [kind, value] of findCertainNodes(conditions, uncertain)) {
    if (kind !== 'A_Expr') continue
    const operator = getLastName(value.name)
    if (value.kind === 'AEXPR_OP' && operator === '=') compare(value.lexpr, value.rexpr, 'one')
    if (value.kind === 'AEXPR_OP_ANY' || value.kind === 'AEXPR_IN') compare(value.lexpr, value.rexpr, 'values')
    const [left, right] = [value.lexpr?.RowExpr?.args, value.rexpr?.RowExpr?.args]
    if (operator === '=' && left && right) for (const [at, each] of left.entries()) compare(each, right[at], 'one')
    else if (left?.some(isTenant)) for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'range')
  }
  if (sources.using) for (const alias of sources.tables.keys()) if (!ties.has(alias)) ties.set(alias, 'same')
  const hasUncertainTenant = uncertain.some((node) =>
    [...walkNodes(node)].some(([kind, { lexpr, rexpr }]) => kind === 'A_Expr' && (isTenant(lexpr) || isTenant(rexpr))),
  )
  return { ties, hasUncertainTenant }
}

/** The planner pushes an outer condition on one tenant into a plain subquery and into both sides of a UNION. */
function skipOneTenantSubqueries({ alias, subquery }, ties) {
  const tie = ties.get(alias?.aliasname) ?? ties.get(undefined)
  const select = subquery.SelectStmt
  if (!select || tie !== 'one' || select.limitCount || select.limitOffset) return
  if (select.larg) Object.assign(select, { larg: undefined, rarg: undefined })
}

function* checkTables(kind, statement, { sources, ties }) {
  const isRead = kind === 'SelectStmt'
  const anchored = [...ties.values()].some((tie) => tie !== 'same')
  for (const [alias, table] of sources.tables) {
    const tie = ties.get(alias)
    const isNamed = tie === 'one' || (tie === 'same' && anchored)
    if (statement.lockingClause && !isNamed) yield `locks ${table} of several tenants`
    if (tie === undefined || (tie === 'same' && !anchored)) yield `${isRead ? 'reads' : 'changes'} ${table} of any tenant`
    else if (!isRead && !isNamed) yield `changes ${table} of several tenants`
    else if (tie === 'range') yield `reads ${table} across tenants`
    else if (tie === 'outer') yield `names the tenant of ${table} by a column of an outer statement`
    else if (tie === 'joined') yield `names the tenant of ${table} by a join to a subquery, a function or a reference table`
  }
}

/** Checks that inserted rows name one tenant by a value, a CTE column, or a column of a table whose tenant is named. */
function* checkInsert({ relation, cols, selectStmt }, { tables, ctes, variables }) {
  if (!tables.has(relation.relname)) return
  const columns = (cols ?? []).map(({ ResTarget }) => ResTarget.name)
  // An INSERT without a column list sets all columns.
  if (columns.length > 0 && !columns.includes('tenant_id')) yield `inserts into ${relation.relname} without a tenant`
  const select = selectStmt?.SelectStmt
  const names = getColumn(select?.targetList?.[columns.indexOf('tenant_id')]?.ResTarget.val, variables)
  if (!names) return
  const known = new Set([...ctes, ...(select.withClause?.ctes ?? []).map(({ CommonTableExpr }) => CommonTableExpr.ctename)])
  const sources = sortSources([select.fromClause], known, tables)
  const { ties } = findTenantConditions(sources, [select.whereClause, select.fromClause], variables)
  const from = names.at(-2) ?? [...sources.tables.keys(), ...sources.others][0]
  const isCte = [...walkNodes(select.fromClause)].some(
    ([kind, value]) => kind === 'RangeVar' && known.has(value.relname) && (value.alias?.aliasname ?? value.relname) === from,
  )
  if (!isCte && ties.get(from) !== 'one') yield `inserts into ${relation.relname} for several tenants`
}

/** Yields findings for the statements in a tree. `ctes` contains names that outer statements define. */
export function* checkTenants(tree, rules, ctes = new Set()) {
  if (tree === null || typeof tree !== 'object') return
  for (const [kind, statement] of Object.entries(tree)) {
    if (!isStatement(kind)) {
      yield* checkTenants(statement, rules, ctes)
      continue
    }
    const { tables, variables } = rules
    const known = new Set([...ctes, ...(statement.withClause?.ctes ?? []).map(({ CommonTableExpr }) => CommonTableExpr.ctename)])
    const { fromClause, usingClause, whereClause, relation, groupClause } = statement
    let ties = new Map()
    if (kind === 'InsertStmt') yield* checkInsert(statement, { ...rules, ctes: known })
    else {
      const sources = sortSources([relation ? [{ RangeVar: relation }] : [], fromClause, usingClause], known, tables)
      const found = findTenantConditions(sources, [whereClause, fromClause, usingClause], variables)
      ties = found.ties
      yield* checkTables(kind, statement, { sources, ties })
      if (found.hasUncertainTenant) yield 'has OR or NOT around a condition on the tenant'
      if ([...walkNodes(groupClause)].some(([name]) => name === 'GroupingSet') && ![...ties.values()].includes('one'))
        yield 'has GROUPING SETS, CUBE or ROLLUP without the name of one tenant'
    }
    for (const [name, from] of walkNodes(fromClause)) if (name === 'RangeSubselect') skipOneTenantSubqueries(from, ties)
    const { larg, rarg, ...rest } = statement
    // The parser returns both sides of a UNION without their node type.
    for (const side of [larg, rarg]) if (side) yield* checkTenants({ SelectStmt: side }, rules, known)
    yield* checkTenants(rest, rules, known)
  }
}
