// Prepared statements stay on the server for a connection's life, so that their number must have an end.
const maxStatements = 500

/** Names for the statements of one kind: under a name, PostgreSQL need not parse and plan the same text again. */
export function statementNames(kind: string): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    let name = names.get(text)
    if (name === undefined && names.size < maxStatements) {
      name = `${kind}_${names.size}`
      names.set(text, name)
    }
    // An empty name is PostgreSQL's unnamed statement: parsed each time, kept nowhere.
    return name ?? ''
  }
}
