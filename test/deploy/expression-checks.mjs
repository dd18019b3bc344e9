// Finds expressions and table combinations that Citus rejects in statements that change rows.
import { findChanges, findNodes, getColumn, getLastName, walkNodes } from './parse-tree.mjs'

const times = new Set(['timestamptz', 'timestamp', 'date', 'time', 'timetz'])
const isInterval = (node) =>
  getLastName(node?.TypeCast?.typeName.names) === 'interval' || getLastName(node?.FuncCall?.funcname) === 'make_interval'
const isWithoutZone = (node) => getLastName(node?.FuncCall?.funcname) === 'timezone'
// PostgreSQL types a constant or parameter directly without a conversion at run time.
const isTyped = (node) => node?.A_Const !== undefined || node?.ParamRef !== undefined

/** Returns the description and volatility of an expression that is not IMMUTABLE. */
function describeVolatility(kind, node, volatility) {
  if (kind === 'SQLValueFunction') return { what: 'CURRENT_TIMESTAMP or a similar value', level: 's' }
  if (kind === 'FuncCall') {
    const name = getLastName(node.funcname)
    // Variants with a time zone name or with seconds are IMMUTABLE.
    if (name === 'timezone' || (name === 'to_timestamp' && node.args.length === 1)) return undefined
    return volatility[name] && { what: `${name}()`, level: volatility[name] }
  }
  if (kind === 'TypeCast' && times.has(getLastName(node.typeName.names)) && !isTyped(node.arg))
    return { what: `a conversion to ${getLastName(node.typeName.names)}`, level: 's' }
  if (kind === 'A_Expr' && /^[+-]$/.test(getLastName(node.name) ?? '')) {
    const { lexpr, rexpr } = node
    const other = isInterval(rexpr) ? lexpr : isInterval(lexpr) ? rexpr : undefined
    if (other && !isWithoutZone(other) && !isInterval(other)) return { what: 'a time plus or minus an interval', level: 's' }
  }
  return undefined
}

/** Yields expressions in `tree` that are not IMMUTABLE. */
function* findMutable(tree, volatility, options) {
  for (const [kind, node] of walkNodes(tree, options)) {
    const found = describeVolatility(kind, node, volatility)
    if (found) yield { ...found, node }
  }
}

const usesColumn = (tree, variables) => {
  for (const [kind, node] of walkNodes(tree)) if (kind === 'ColumnRef' && getColumn({ ColumnRef: node }, variables)) return true
  return false
}

function* checkUpdate(table, parts, { volatility, variables }) {
  for (const { what, level, node } of findMutable(parts, volatility)) {
    if (level === 'v') yield `changes ${table} with ${what}, which is VOLATILE`
    else if (usesColumn(node, variables)) yield `changes ${table} with ${what} of a column, which is STABLE`
  }
}

function* checkChange(kind, statement, rules) {
  const table = statement.relation.relname
  const { onConflictClause, returningList, returningClause, targetList, whereClause, selectStmt } = statement
  const { volatility } = rules
  for (const { what } of findMutable(onConflictClause, volatility, { nested: true }))
    yield `has an ON CONFLICT clause for ${table} with ${what}, which is not IMMUTABLE`
  for (const { what } of findMutable([returningList, returningClause], volatility, { nested: true }))
    yield `returns ${what} from a change of ${table}, which is not IMMUTABLE`
  const changed = kind === 'InsertStmt' ? [selectStmt] : [targetList, whereClause]
  for (const [name, node] of walkNodes([changed, onConflictClause], { nested: true }))
    if (name === 'CoalesceExpr' || name === 'CaseExpr')
      for (const { what } of findMutable(node, volatility, { nested: true }))
        yield `changes ${table} with ${what} in ${name === 'CaseExpr' ? 'CASE' : 'COALESCE'}, which is not IMMUTABLE`
  if (kind !== 'InsertStmt') yield* checkUpdate(table, [targetList, whereClause], rules)
}

/**
 * Yields findings for the expressions and tables of a statement. `rules` contains the tables by kind, function volatility, and
 * variables.
 */
export function* checkExpressions(tree, rules) {
  const { distributed, reference, local } = rules
  const changes = [...findChanges(tree)]
  if (changes.length === 0) return
  for (const [kind, statement] of changes) {
    const table = statement.relation.relname
    if (distributed.has(table) || reference.has(table)) yield* checkChange(kind, statement, rules)
  }
  const used = [...findNodes(tree, 'RangeVar')].map(({ relname }) => relname)
  const all = [...used, ...changes.map(([, { relation }]) => relation.relname)]
  const isLocking = !findNodes(tree, 'lockingClause').next().done
  const copied = used.find((table) => reference.has(table))
  if (isLocking && copied) yield `locks and changes rows in one statement that uses the reference table ${copied}`
  const ofCoordinator = all.find((table) => local.has(table))
  const ofNodes = all.find((table) => distributed.has(table) || reference.has(table))
  if (ofCoordinator && ofNodes) yield `uses the local table ${ofCoordinator} together with ${ofNodes}`
}
