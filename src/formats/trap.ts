/** A bomb or a trick, thrown from the depths of a reader. */
export class Trap extends Error {
  override readonly name = 'Trap'

  constructor(
    readonly trap: string,
    message: string,
  ) {
    super(message)
  }
}
