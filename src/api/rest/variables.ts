import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type GraphQLInputObjectType,
  type GraphQLInputType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import { suggestionList } from 'graphql/jsutils/suggestionList.js'
import type { Call } from '../../access/call.js'
import { toSnakeCase } from '../../platform/case-conversion.js'
import type { FieldError } from '../../platform/errors/errors.js'
import { IncomingFile } from '../../platform/spool/content.js'
import { readJson } from '../bodies/json.js'
import { sendContinue } from '../bodies/request-body.js'
import type { Operation } from './operations.js'
import type { Route } from './routes.js'

/** A request value and its format: text (path, query string or form field) or JSON. */
export interface RawValue {
  value: unknown
  format: 'text' | 'json'
}

export interface RestRequest {
  request: IncomingMessage
  response: ServerResponse
  call: Call
  route: Route
  operation: Operation
}

/** Returns the names of the variables that are not part of the path. */
const listVariableNames = ({ operation, route }: RestRequest): string[] =>
  operation.variables.map(({ name }) => name).filter((name) => !route.path.includes(`{${name}}`))

/** Reads the members of a JSON body. Unknown members are reported as invalid. */
export async function readBodyMembers(restRequest: RestRequest): Promise<Map<string, RawValue>> {
  const { request, response, call } = restRequest
  sendContinue(request, response)
  const members = await call.admission.bodies.readJson(call, (limits) => readJson(request, limits))
  const raw = new Map<string, RawValue>()
  const known = listVariableNames(restRequest)
  for (const name of known) if (Object.hasOwn(members, name)) raw.set(name, { value: members[name], format: 'json' })
  call.inputErrors.push(...findUnknownNames(Object.keys(members), known, 'a member of this request'))
  return raw
}

/** Reads the values in a query string. Unknown parameters are invalid, and so are all parameters of a route with a body. */
export const readQuery = (restRequest: RestRequest, query: URLSearchParams): Map<string, RawValue> =>
  readQueryParameters(restRequest.call, query, restRequest.route.body ? [] : listVariableNames(restRequest))

/** Reads the known parameters in a query string. Repeated and unknown parameters are reported as invalid. */
export function readQueryParameters(call: Call, query: URLSearchParams, knownNames: readonly string[]): Map<string, RawValue> {
  const raw = new Map<string, RawValue>()
  for (const name of knownNames) {
    const values = query.getAll(name)
    if (values.length > 1) call.inputErrors.push({ field: name, message: 'must not be sent more than once' })
    if (values.length > 0) raw.set(name, { value: values[0], format: 'text' })
  }
  call.inputErrors.push(...findUnknownNames(query.keys(), knownNames, 'a query parameter of this endpoint'))
  return raw
}

/**
 * Reads the arguments of an operation for a handler that does not execute a GraphQL document. Reports invalid values in the same
 * way as a GraphQL request.
 */
export function readArguments<Args extends object>(
  call: Call,
  operation: Operation,
  rawValues: ReadonlyMap<string, RawValue>,
  args: Args,
): Args {
  const { variables, errors } = coerceVariables(operation, rawValues, { rejectsNull: false })
  for (const error of errors) if (!call.inputErrors.some(({ field }) => field === error.field)) call.inputErrors.push(error)
  call.requestName = operation.requestName
  for (const [path, name] of operation.requestNames)
    if (variables[name] !== undefined) Object.assign(args, { [path]: variables[name] })
  return args
}

/**
 * Converts request values to document variables. Replaces invalid required values with valid placeholders, so that the document
 * runs until the resolver has checked the scope. All invalid fields are then reported together.
 */
export function coerceVariables(
  operation: Operation,
  rawValues: ReadonlyMap<string, RawValue>,
  { rejectsNull, nullable = [] }: { rejectsNull: boolean; nullable?: readonly string[] | undefined },
): { variables: Record<string, unknown>; errors: FieldError[] } {
  const variables: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const { name, type } of operation.variables) {
    const { value, format } = rawValues.get(name) ?? { value: undefined, format: 'text' }
    const isOmitted = value === undefined || (value === null && !rejectsNull)
    // Omit the variable, so that the schema's default applies.
    if (isOmitted && !isNonNullType(type)) continue
    const found: FieldError[] = []
    let coerced: unknown = null
    if (isOmitted) found.push({ field: name, message: 'is required' })
    else if (value !== null) coerced = coerceValue(type, { value, format }, name, found)
    else if (!nullable.includes(name)) found.push({ field: name, message: 'must not be null' })
    if (found.length === 0) variables[name] = coerced
    else if (isNonNullType(type)) variables[name] = createPlaceholder(type)
    errors.push(...found)
  }
  return { variables, errors }
}

/** Converts the value of a field, and adds its errors to `errors`. The result is undefined if the value is invalid. */
function coerceValue(type: GraphQLInputType, { value, format }: RawValue, field: string, errors: FieldError[]): unknown {
  const reject = (message: string) => void errors.push({ field, message })
  if (isNonNullType(type))
    return value === null ? reject('must not be null') : coerceValue(type.ofType, { value, format }, field, errors)
  if (isListType(type)) {
    const items = format === 'text' && typeof value === 'string' ? value.split(',') : value
    return Array.isArray(items) ? coerceItems(type.ofType, items, reject) : reject('must be an array')
  }
  if (isEnumType(type)) {
    const names = type.getValues().map(({ name }) => name)
    return names.includes(value as string) ? value : reject(`must be ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`)
  }
  if (isInputObjectType(type)) return isJsonObject(value) ? coerceMembers(type, value, field, errors) : reject(notObject)
  const result = (coercions[type.toString()] ?? coercions.String!)(value, format)
  if ('value' in result) return result.value
  const { error: message, rejected } = result
  errors.push({ field, message, ...(rejected !== undefined && { value: rejected }) })
  return undefined
}

/**
 * Converts the members of a nested object from snake_case. Keeps null for a nullable member, because the member's rules accept or
 * reject it later.
 */
function coerceMembers(
  type: GraphQLInputObjectType,
  value: Record<string, unknown>,
  field: string,
  errors: FieldError[],
): Record<string, unknown> {
  const fields = new Map(Object.values(type.getFields()).map((member) => [toSnakeCase(member.name), member]))
  for (const error of findUnknownNames(Object.keys(value), [...fields.keys()], 'a member of this object'))
    errors.push({ ...error, field: `${field}.${error.field}` })
  const members: Record<string, unknown> = {}
  for (const [name, { name: target, type: memberType }] of fields) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    if (member === null && !isNonNullType(memberType)) members[target] = null
    else if (member !== undefined)
      members[target] = coerceValue(memberType, { value: member, format: 'json' }, `${field}.${name}`, errors)
  }
  return members
}

/** Converts the items of a list. Reports only the first invalid item. */
function coerceItems(type: GraphQLInputType, values: unknown[], reject: (message: string) => void): unknown[] {
  const errors: FieldError[] = []
  const items = values.map((value) => coerceValue(type, { value, format: 'json' }, '', errors))
  if (errors[0]) reject(`must be an array in which every item ${errors[0].message}`)
  return items
}

const notObject = 'must be a JSON object'
const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `error` completes a sentence that begins with the field name. `rejected` is the rejected value of a numeric variable. */
type CoercionResult = { value: unknown } | { error: string; rejected?: string | number | undefined }

/** Accepts text only if it consists of decimal digits. Signed, fractional and empty text is invalid. */
function coerceInteger(value: unknown, format: RawValue['format'], max: number): CoercionResult {
  const isDigits = /^\d+$/.test(String(value)) && String(value).length <= String(max).length
  const number = format === 'text' ? (isDigits ? Number(value) : Number.NaN) : value
  if (Number.isInteger(number) && Math.abs(number as number) <= max) return { value: number }
  const rejected = typeof value === 'string' || typeof value === 'number' ? value : undefined
  return { error: `must be a whole number of at most ${max}`, rejected }
}

const coercions: Record<string, (value: unknown, format: RawValue['format']) => CoercionResult> = {
  Int: (value, format) => coerceInteger(value, format, 2_147_483_647),
  Long: (value, format) => coerceInteger(value, format, Number.MAX_SAFE_INTEGER),
  Boolean: (value, format) => {
    const known = format === 'text' ? { true: true, false: false }[String(value)] : value
    return typeof known === 'boolean' ? { value: known } : { error: 'must be true or false' }
  },
  String: (value) => (typeof value === 'string' ? { value } : { error: 'must be a string' }),
  JSONObject: (value) => (isJsonObject(value) ? { value } : { error: notObject }),
  Upload: (value) => (value instanceof IncomingFile ? { value } : { error: 'must be a file' }),
}

const noFile = new IncomingFile('', () => Promise.reject(new Error('The placeholder file cannot be received.')))

function createPlaceholder(type: GraphQLInputType): unknown {
  const plain = getNullableType(type) as GraphQLInputType
  if (isListType(plain)) return []
  if (isEnumType(plain)) return plain.getValues()[0]!.name
  return { Int: 1, Long: 1, Boolean: false, JSONObject: {}, Upload: noFile }[plain.toString()] ?? 'x'
}

// Limits the number of reported names, because the error message, the error details and the call log repeat each of them.
const maxErrors = 50

/** Reports up to `maxErrors` unknown names, each with the most similar known name, if any. */
export function findUnknownNames(names: Iterable<string>, knownNames: readonly string[], description: string): FieldError[] {
  const errors: FieldError[] = []
  for (const name of new Set(names)) {
    if (knownNames.includes(name)) continue
    if (errors.length >= maxErrors) break
    // List the known names only once per request.
    const hint = suggestName(name, knownNames) ?? (errors.length === 0 ? listKnownNames(knownNames) : '')
    errors.push({ field: name.slice(0, 100), message: `is not ${description}${hint}` })
  }
  return errors
}

function suggestName(name: string, knownNames: readonly string[]): string | undefined {
  const [first] = suggestionList(name.slice(0, 100), knownNames)
  return first === undefined ? undefined : `. Did you mean '${first}'?`
}

const listKnownNames = (knownNames: readonly string[]): string =>
  knownNames.length > 0 && knownNames.length <= 15 ? `. Known names: ${knownNames.join(', ')}` : ''
