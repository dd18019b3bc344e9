import { GraphQLError, GraphQLScalarType } from 'graphql'
import type { Spooled } from '../body/spool.js'

/** A file on its way in, whichever edge it came by. */
export class IncomingFile {
  readonly #name: string | Promise<string>
  readonly #receive: (limit: () => number) => Promise<Spooled>

  constructor(name: string | Promise<string>, receive: (limit: () => number) => Promise<Spooled>) {
    this.#name = name
    this.#receive = receive
  }

  /** What the client called it: not to be believed, see `cleanFilename`. */
  async name(): Promise<string> {
    return this.#name
  }

  /** Streams it in, up to `limit()` bytes. Whoever calls it disposes of the result. */
  receive(limit: () => number): Promise<Spooled> {
    return this.#receive(limit)
  }
}

/** Without its content where that is more than `limit`: what is known by then may be less than what was allowed to stream. */
export const spooledWithin = (spooled: Spooled, limit: number): Spooled =>
  spooled.content && spooled.sizeBytes <= limit ? spooled : { sizeBytes: spooled.sizeBytes, dispose: () => spooled.dispose() }

/** A file of the multipart request specification, or a part of a REST upload. */
export const UploadScalar = new GraphQLScalarType<unknown, never>({
  name: 'Upload',
  description: 'A file, sent by the GraphQL multipart request specification.',
  parseValue: (value) => {
    if (value instanceof IncomingFile) return value
    throw new GraphQLError('must be a file, sent by the GraphQL multipart request specification')
  },
  parseLiteral: () => {
    throw new GraphQLError('must be a variable that stands for a file')
  },
  serialize: () => {
    throw new GraphQLError('a file cannot be answered')
  },
})
