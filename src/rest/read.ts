import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../admission/call.js'
import type { Actor } from '../auth/actor.js'
import { readJson } from '../body/json.js'
import type { RawValue } from '../body/raw-value.js'
import type { Spool } from '../body/spool.js'
import { unknownNames } from '../body/unknown-names.js'
import { wantBody } from '../body/watch-body.js'
import type { Operation } from './operations.js'
import type { Route } from './routes.js'
import { UploadForm } from './upload-form.js'

export interface Inquiry {
  request: IncomingMessage
  response: ServerResponse
  call: Call
  route: Route
  operation: Operation
}

/** The members of a JSON body; one that the document does not know is a fault. */
export async function readMembers({ request, response, call, operation, route }: Inquiry): Promise<Map<string, RawValue>> {
  wantBody(request, response)
  const members = await call.admission.json.read(call, (limits) => readJson(request, limits))
  const raw = new Map<string, RawValue>()
  const known = operation.variables.map(({ name }) => name).filter((name) => !route.path.includes(`{${name}}`))
  for (const name of known) if (Object.hasOwn(members, name)) raw.set(name, { value: members[name], from: 'json' })
  call.inputFaults.push(...unknownNames(Object.keys(members), known, 'a member of this request'))
  return raw
}

/** The values of a query string; a parameter that the document does not know is a fault, on routes with a body every one is. */
export function readQuery({ call, operation, route }: Inquiry, query: URLSearchParams): Map<string, RawValue> {
  const raw = new Map<string, RawValue>()
  const known = route.body ? [] : operation.variables.map(({ name }) => name).filter((name) => !route.path.includes(`{${name}}`))
  for (const name of known) {
    const values = query.getAll(name)
    if (values.length > 1) call.inputFaults.push({ field: name, message: 'must be given once' })
    if (values.length > 0) raw.set(name, { value: values[0], from: 'text' })
  }
  call.inputFaults.push(...unknownNames(query.keys(), known, 'a query parameter of this endpoint'))
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
  const form = await UploadForm.read(request, {
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
    await form.dispose()
  }
}
