// Prepared statements stay on the server until the connection closes, so their number is limited.
const maxStatements = 500

/** Returns a function that names statements of one kind. PostgreSQL parses a named statement only once per connection. */
export function createStatementNamer(kind: string): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    let name = names.get(text)
    if (name === undefined && names.size < maxStatements) {
      name = `${kind}_${names.size}`
      names.set(text, name)
    }
    // An empty name selects PostgreSQL's unnamed statement, which is parsed each time and not stored.
    return name ?? ''
  }
}
