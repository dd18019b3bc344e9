/** What a scanner needs of a logger; pino is one. */
export interface ScannerLogger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}
