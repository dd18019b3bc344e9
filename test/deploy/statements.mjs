// Reads statements and function definitions as JSON from standard input, parses them with the PostgreSQL parsers, and prints
// those that Citus rejects with reasons.
import { loadModule, parsePlPgSQLSync, parseSync } from 'libpg-query'
import { checkExpressions } from './expression-checks.mjs'
import { findNodes, walkNodes } from './parse-tree.mjs'
import { checkTenants } from './tenant-checks.mjs'

await loadModule()
const { statements, functions, ...input } = JSON.parse(Buffer.concat(await process.stdin.toArray()).toString())
const rules = {
  tables: new Set(input.distributed),
  distributed: new Set(input.distributed),
  reference: new Set(input.reference),
  local: new Set(input.local),
  /** Functions that are not IMMUTABLE, with 's' (STABLE) or 'v' (VOLATILE) by name. */
  volatility: input.volatility,
  variables: new Set(),
}

function checkStatement(statement, variables, read = statement) {
  const found = []
  try {
    const tree = parseSync(read)
    // Expression checks run first because tenant checks change the tree.
    found.push(...checkExpressions(tree, { ...rules, variables }), ...checkTenants(tree, { ...rules, variables }))
  } catch (error) {
    found.push(`cannot be parsed: ${error.message}`)
  }
  return { statement, found: [...new Set(found)] }
}

// Values of RawParseMode in PostgreSQL for statements, expressions and assignments.
const [aStatement, anExpression] = [0, 2]
const readable = ({ query, parseMode }) => {
  if (parseMode === aStatement) return query
  return `SELECT ${parseMode === anExpression ? query : query.slice(query.indexOf(':=') + 2)}`
}

const usesTables = (query) =>
  [...walkNodes(parseSync(query), { nested: true })].some(([kind]) => kind === 'RangeVar' || kind === 'relation')

/** Checks the statements in a function body with the function's variables. */
function checkFunction({ name, language, definition, body }) {
  if (language === 'sql') return [checkStatement(`${name}: ${body}`, new Set(), body)]
  const parsed = parsePlPgSQLSync(definition)
  const variables = new Set(
    ['PLpgSQL_var', 'PLpgSQL_rec', 'PLpgSQL_row'].flatMap((kind) =>
      [...findNodes(parsed, kind)].map(({ refname }) => refname.toLowerCase()),
    ),
  )
  const expressions = [...findNodes(parsed, 'PLpgSQL_expr')]
  const findings = expressions.map((each) => checkStatement(`${name}: ${each.query}`, variables, readable(each)))
  for (const _ of findNodes(parsed, 'PLpgSQL_stmt_dynexecute'))
    findings.push({ statement: `${name}: EXECUTE`, found: ['cannot be read'] })
  // A trigger runs on the node that stores the shard, and that node cannot plan the trigger's statements.
  if (/\bRETURNS trigger\b/i.test(definition) && expressions.some((each) => usesTables(readable(each))))
    findings.push({ statement: `${name}: trigger`, found: ['runs a statement in a trigger'] })
  return findings
}

const findings = [...statements.map((statement) => checkStatement(statement, new Set())), ...functions.flatMap(checkFunction)]
console.log(JSON.stringify(findings.filter(({ found }) => found.length > 0)))
