import { badUserInput } from '../errors/errors.js'
import type { Spooled } from './intake.js'

type Receive = (limit: () => number) => Promise<Spooled>

export class IncomingFile {
  readonly #name: string | Promise<string>
  readonly #receive: Receive
  #isReceived = false

  constructor(name: string | Promise<string>, receive: Receive) {
    this.#name = name
    this.#receive = receive
  }

  /** Name from the client. Do not trust it. See `cleanFilename`. */
  async name(): Promise<string> {
    return this.#name
  }

  /** Receives up to `limit()` bytes. The caller disposes of the result. */
  async receive(limit: () => number): Promise<Spooled> {
    // The first field has already disposed of the content.
    if (this.#isReceived)
      throw badUserInput([{ field: 'file', message: 'must be used by only one field. Send the file once for each field' }])
    this.#isReceived = true
    return this.#receive(limit)
  }
}
