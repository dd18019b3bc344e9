import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Call } from '../../access/call.js'
import type { AssayError } from '../../platform/errors/errors.js'
import { IncomingFile, type Spooled } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { rejectContentEncoding, sendContinue, watchBody } from '../bodies/request-body.js'
import { loadOperations } from './operations.js'
import { type RestDependencies, respond, runOperation } from './router.js'
import { routes } from './routes.js'
import { type FixedContext, readUpload } from './upload-form.js'
import type { RawValue, RestRequest } from './variables.js'

/** Context of an upload through a link, and the file name if the body is the file itself. */
export interface LinkUploadTarget extends FixedContext {
  filename?: string
}

export type LinkUploadHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  call: Call,
  target: LinkUploadTarget,
) => Promise<void>

/**
 * Handles uploads through a link by running the document of `POST /files/upload`, so that checks, logs and responses are
 * identical.
 */
export function createLinkUploadHandler(dependencies: RestDependencies): LinkUploadHandler {
  const route = routes.find(({ operation }) => operation === 'UploadFile')!
  const operation = loadOperations(dependencies.schema).get(route.operation)!
  return (request, response, call, target) => {
    const restRequest: RestRequest = { request, response, call, route, operation }
    const { filename } = target
    call.requestName = operation.requestName
    const executeUpload = (rawValues: Map<string, RawValue>) => runOperation(restRequest, rawValues)
    return respond(dependencies, restRequest, async () => {
      const data = await call.admitUpload(operation.endpoint, request.headers, (actor) =>
        filename === undefined
          ? readUpload(dependencies, restRequest, actor, executeUpload, target)
          : executeUpload(readBody(dependencies.spool, restRequest, { ...target, filename })),
      )
      return { route, data }
    })
  }
}

/** Returns the variables of an upload whose body is the file itself. The body is received when the resolver reads the file. */
function readBody(
  spool: Spool,
  { request, response, call }: RestRequest,
  { context, filename }: LinkUploadTarget & { filename: string },
): Map<string, RawValue> {
  rejectContentEncoding(request)
  const { idleMs } = call.admission.bodies
  const file = new IncomingFile(filename, (limit) => {
    sendContinue(request, response)
    return receiveBody(request, { spool, limit, idleMs })
  })
  return new Map([
    ['file', { value: file, format: 'text' }],
    ['context', { value: context, format: 'text' }],
  ])
}

async function receiveBody(
  request: IncomingMessage,
  { spool, limit, idleMs }: { spool: Spool; limit: () => number; idleMs: number },
): Promise<Spooled> {
  // The spool destroys its source when the size limit is exceeded. It gets a PassThrough instead of the request, so that the
  // connection stays open for the response.
  const source = new PassThrough({ highWaterMark: 256 * 1024 })
  let failure: AssayError | undefined
  const unwatch = watchBody(request, { idleMs }, (error) => {
    failure = error
    source.destroy(error)
  })
  try {
    return await spool.receive(request.pipe(source), limit, { expectedBytes: Number(request.headers['content-length'] ?? 0) })
  } catch (error) {
    throw failure ?? error
  } finally {
    unwatch()
    request.unpipe(source)
    source.destroy()
  }
}
