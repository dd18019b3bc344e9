// Helpers for the parse trees of PostgreSQL.

const isStatement = (kind) => /^(Select|Update|Delete|Insert)Stmt$/.test(kind)

/** Every node of a tree as [kind, node]. `nested`: also the nodes of nested statements. */
export function* nodesIn(tree, { nested = false } = {}) {
  if (tree === null || typeof tree !== 'object') return
  for (const [kind, node] of Object.entries(tree)) {
    if (isStatement(kind)) {
      if (!nested) continue
    }
    yield [kind, node]
    yield* nodesIn(node, { nested })
  }
}

/** The nodes of one kind, also in nested statements. */
export function* ofKind(tree, kind) {
  for (const [name, node] of nodesIn(tree, { nested: true })) if (name === kind) yield node
}

/** Names of a column reference, such as ['f', 'tenant_id']. Undefined for other nodes and for variables of a function. */
export function columnOf(node, variables) {
  const names = node?.ColumnRef?.fields.map((field) => field.String?.sval ?? '*')
  return names && variables.has(names[0].toLowerCase()) ? undefined : names
}

/** The last part of a qualified name: `now` of `pg_catalog.now`. */
export const lastName = (names) => names?.at(-1)?.String?.sval

/** INSERT, UPDATE and DELETE statements of a tree, also nested, as [kind, statement]. */
export function* changesIn(tree) {
  for (const [kind, node] of nodesIn(tree, { nested: true })) if (/^(Update|Delete|Insert)Stmt$/.test(kind)) yield [kind, node]
}

export { isStatement }
