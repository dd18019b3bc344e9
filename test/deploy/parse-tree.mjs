// Helpers for the parse trees of PostgreSQL.

const isStatement = (kind) => /^(Select|Update|Delete|Insert)Stmt$/.test(kind)

/** Yields every node in a tree as [kind, node]. `nested` includes the nodes of nested statements. */
export function* walkNodes(tree, { nested = false } = {}) {
  if (tree === null || typeof tree !== 'object') return
  for (const [kind, node] of Object.entries(tree)) {
    if (isStatement(kind)) {
      if (!nested) continue
    }
    yield [kind, node]
    yield* walkNodes(node, { nested })
  }
}

/** Yields the nodes of one kind, including those in nested statements. */
export function* findNodes(tree, kind) {
  for (const [name, node] of walkNodes(tree, { nested: true })) if (name === kind) yield node
}

/** Returns the parts of a column reference, such as ['f', 'tenant_id'], or undefined for other nodes and function variables. */
export function getColumn(node, variables) {
  const names = node?.ColumnRef?.fields.map((field) => field.String?.sval ?? '*')
  return names && variables.has(names[0].toLowerCase()) ? undefined : names
}

/** Returns the last part of a qualified name, such as `now` for `pg_catalog.now`. */
export const getLastName = (names) => names?.at(-1)?.String?.sval

/** Yields the INSERT, UPDATE and DELETE statements in a tree, including nested ones, as [kind, statement]. */
export function* findChanges(tree) {
  for (const [kind, node] of walkNodes(tree, { nested: true })) if (/^(Update|Delete|Insert)Stmt$/.test(kind)) yield [kind, node]
}

export { isStatement }
