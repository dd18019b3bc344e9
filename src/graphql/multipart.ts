import type { IncomingMessage, ServerResponse } from 'node:http'
import { processRequest, Upload } from 'graphql-upload-ts'
import { AssayError, badUserInput } from '../errors.js'
import type { Spool } from '../spool.js'
import { IncomingFile } from './upload.js'

/** Reads the multipart request specification through graphql-upload-ts; its files become ours. Throws 400 for what is broken. */
export async function readMultipartRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { spool, ceiling }: { spool: Spool; ceiling: number },
): Promise<unknown> {
  let body: unknown
  try {
    // One byte more than the limit gets through, so that the spool sees that it was too much and tells so by its own name.
    body = await processRequest(request as never, response, { maxFileSize: ceiling + 1, maxFiles: 10, maxFieldSize: 1_000_000 })
  } catch (error) {
    throw badUserInput([
      {
        field: 'body',
        message: `must follow the GraphQL multipart request specification (${(error as Error).message.slice(0, 200)})`,
      },
    ])
  }
  return replaced(body, spool)
}

function replaced(value: unknown, spool: Spool): unknown {
  if (value instanceof Upload) return incoming(value, spool)
  if (Array.isArray(value)) return value.map((item) => replaced(item, spool))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, spool)]))
  return value
}

function incoming(upload: Upload, spool: Spool): IncomingFile {
  const file = (upload as unknown as { promise: Promise<{ filename: string; createReadStream(): AsyncIterable<Buffer> }> })
    .promise
  const name = file.then(({ filename }) => filename)
  // Told again where it is asked for; here only kept from counting as unhandled.
  name.catch(() => {})
  return new IncomingFile(name, async (limit) => {
    try {
      return await spool.take((await file).createReadStream(), limit)
    } catch (error) {
      if (error instanceof AssayError) throw error
      // graphql-upload-ts cut it off at the ceiling: told as what it is, by the check of sizes.
      if ((error as { status?: number }).status === 413) return { sizeBytes: Math.max(limit(), 0) + 1, dispose: async () => {} }
      throw badUserInput([{ field: 'file', message: `was not received whole (${(error as Error).message.slice(0, 200)})` }])
    }
  })
}
