// Prepared statements stay on the server as long as their connection, so their number must be limited.
const maxStatements = 500

/** Assigns names to the statements of one kind. With a name, PostgreSQL does not parse and plan the same text again. */
export function statementNames(kind: string): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    let name = names.get(text)
    if (name === undefined && names.size < maxStatements) {
      name = `${kind}_${names.size}`
      names.set(text, name)
    }
    // An empty name means PostgreSQL's unnamed statement, which is parsed each time and not stored.
    return name ?? ''
  }
}
