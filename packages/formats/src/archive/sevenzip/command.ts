export interface SevenZipCommand {
  command: string[]
  type: string
  line?: (text: string) => void
  /** Takes what it writes to its standard output as it is, instead of `line`. The bytes are only lent. */
  output?: (bytes: Buffer) => void
  passedOver?: ReadonlySet<string>
}
