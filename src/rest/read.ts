import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../admission/call.js'
import type { Actor } from '../auth/actor.js'
import { readJson } from '../body/json.js'
import { readMultipart } from '../body/multipart.js'
import type { RawValue } from '../body/raw-value.js'
import type { Spool } from '../body/spool.js'
import { wantBody } from '../body/watch-body.js'
import type { Operation } from './operations.js'
import type { Route } from './routes.js'

/** What one request has been found to be. */
export interface Inquiry {
  request: IncomingMessage
  response: ServerResponse
  call: Call
  route: Route
  operation: Operation
}

// Each is told twice, in the message and in the details, and kept in the call's log.
const mostToldFaults = 50

/** The members of a JSON body; one that the document does not know is a fault. */
export async function readMembers({ request, response, call, operation, route }: Inquiry): Promise<Map<string, RawValue>> {
  wantBody(request, response)
  const members = await call.admission.json.read(call, (limits) => readJson(request, limits))
  const raw = new Map<string, RawValue>()
  const known = new Set(operation.variables.map(({ name }) => name))
  for (const [name, value] of Object.entries(members)) {
    if (known.has(name) && !route.path.includes(`{${name}}`)) raw.set(name, { value, from: 'json' })
    else if (call.inputFaults.length < mostToldFaults)
      call.inputFaults.push({ field: name.slice(0, 100), message: 'is not a member of this request' })
  }
  return raw
}

/** The values of a query string that the document knows. */
export function readQuery({ call, operation }: Inquiry, query: URLSearchParams): Map<string, RawValue> {
  const raw = new Map<string, RawValue>()
  for (const { name } of operation.variables) {
    const values = query.getAll(name)
    if (values.length > 1) call.inputFaults.push({ field: name, message: 'must be given once' })
    if (values.length > 0) raw.set(name, { value: values[0], from: 'text' })
  }
  return raw
}

interface UploadParts {
  spool: Spool
  contextLimit(actor: Actor, contextKey: string): Promise<number | undefined>
}

/** The parts of an upload or a dry run, spooled; what was received is disposed of when `work` is done. */
export async function readUpload<T>(
  { spool, contextLimit }: UploadParts,
  { request, response, call, operation }: Inquiry,
  actor: Actor,
  work: (raw: Map<string, RawValue>) => Promise<T>,
): Promise<T> {
  const { uploads } = call.admission
  wantBody(request, response)
  const form = await readMultipart(request, {
    spool,
    ceiling: uploads.ceiling,
    idleMs: uploads.idleMs,
    fields: operation.variables.map(({ name }) => name).filter((name) => name !== 'file'),
    limitOf: (contextKey) => contextLimit(actor, contextKey),
  })
  try {
    if (form.cut && !form.values.has('context')) throw uploads.largerThanAny()
    call.inputFaults.push(...form.faults)
    return await work(form.values)
  } finally {
    await form.spooled?.dispose()
  }
}
