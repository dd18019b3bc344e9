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

/** A request value and its source: text (path, query string or form field) or JSON. */
export interface RawValue {
  value: unknown
  from: 'text' | 'json'
}

export interface RestRequest {
  request: IncomingMessage
  response: ServerResponse
  call: Call
  route: Route
  operation: Operation
}

/** Reads the members of a JSON body. Unknown members are reported as invalid. */
export async function readBodyMembers({
  request,
  response,
  call,
  operation,
  route,
}: RestRequest): Promise<Map<string, RawValue>> {
  sendContinue(request, response)
  const members = await call.admission.bodies.readJson(call, (limits) => readJson(request, limits))
  const raw = new Map<string, RawValue>()
  const known = operation.variables.map(({ name }) => name).filter((name) => !route.path.includes(`{${name}}`))
  for (const name of known) if (Object.hasOwn(members, name)) raw.set(name, { value: members[name], from: 'json' })
  call.inputErrors.push(...findUnknownNames(Object.keys(members), known, 'a member of this request'))
  return raw
}

/**
 * Reads the values in a query string. Unknown parameters are reported as invalid, as are all parameters of a route with a body.
 */
export function readQuery({ call, operation, route }: RestRequest, query: URLSearchParams): Map<string, RawValue> {
  const names = route.body ? [] : operation.variables.map(({ name }) => name)
  return readQueryParameters(
    call,
    query,
    names.filter((name) => !route.path.includes(`{${name}}`)),
  )
}

/** Reads the known parameters in a query string. Repeated and unknown parameters are reported as invalid. */
export function readQueryParameters(call: Call, query: URLSearchParams, knownNames: readonly string[]): Map<string, RawValue> {
  const raw = new Map<string, RawValue>()
  for (const name of knownNames) {
    const values = query.getAll(name)
    if (values.length > 1) call.inputErrors.push({ field: name, message: 'must not be sent more than once' })
    if (values.length > 0) raw.set(name, { value: values[0], from: 'text' })
  }
  call.inputErrors.push(...findUnknownNames(query.keys(), knownNames, 'a query parameter of this endpoint'))
  return raw
}

/**
 * Reads the arguments of an operation for a handler that does not execute a GraphQL document. Reports invalid values as GraphQL does.
 */
export function readArguments<Args extends object>(
  call: Call,
  operation: Operation,
  raw: ReadonlyMap<string, RawValue>,
  args: Args,
): Args {
  const { variables, errors } = coerceVariables(operation, raw, { rejectsNull: false })
  for (const error of errors) if (!call.inputErrors.some(({ field }) => field === error.field)) call.inputErrors.push(error)
  call.requestName = operation.requestName
  for (const [path, name] of operation.requestNames)
    if (variables[name] !== undefined) Object.assign(args, { [path]: variables[name] })
  return args
}

/**
 * Converts request values to document variables. Replaces an invalid value with a valid placeholder and reports it, so that the
 * document runs until the resolver has checked the scope. Afterwards, all invalid fields are reported together.
 */
export function coerceVariables(
  operation: Operation,
  raw: ReadonlyMap<string, RawValue>,
  { rejectsNull, nullable = [] }: { rejectsNull: boolean; nullable?: readonly string[] | undefined },
): { variables: Record<string, unknown>; errors: FieldError[] } {
  const variables: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const { name, type } of operation.variables) {
    const input = raw.get(name)
    if (input === undefined || input.value === undefined || (input.value === null && !rejectsNull)) {
      // Omit the variable, so that the schema's default applies.
      if (!isNonNullType(type)) continue
      errors.push({ field: name, message: 'is required' })
      variables[name] = createPlaceholder(type)
      continue
    }
    if (input.value === null && nullable.includes(name)) {
      variables[name] = null
      continue
    }
    const result =
      input.value === null ? { error: 'must not be null' } : coerceValue(getNullableType(type) as GraphQLInputType, input)
    if ('value' in result) {
      variables[name] = result.value
      continue
    }
    errors.push(...toFieldErrors(result).map((error) => prefixFieldName(name, error)))
    if (isNonNullType(type)) variables[name] = createPlaceholder(type)
  }
  return { variables, errors }
}

/** `error` describes the problem with the value. `rejected` is the value if it is not a valid number. */
type CoercionResult = { value: unknown } | { error: string; rejected?: string | number | undefined } | { errors: FieldError[] }

const toFieldErrors = (result: Exclude<CoercionResult, { value: unknown }>): FieldError[] => {
  if ('errors' in result) return result.errors
  const { error: message, rejected } = result
  return [{ field: '', message, ...(rejected !== undefined && { value: rejected }) }]
}

const prefixFieldName = (name: string, { field, ...error }: FieldError): FieldError => ({
  field: field ? `${name}.${field}` : name,
  ...error,
})

function coerceValue(type: GraphQLInputType, { value, from }: RawValue): CoercionResult {
  if (isNonNullType(type)) return value === null ? { error: 'must not be null' } : coerceValue(type.ofType, { value, from })
  if (isListType(type)) return coerceList(type.ofType, from === 'text' && typeof value === 'string' ? value.split(',') : value)
  if (isEnumType(type)) {
    const names = type.getValues().map(({ name }) => name)
    return typeof value === 'string' && names.includes(value)
      ? { value }
      : { error: `must be ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}` }
  }
  if (isInputObjectType(type)) return coerceObject(type, value)
  return (coercions[type.toString()] ?? coercions.String!)(value, from)
}

/** Coerces a nested object with snake_case members. Null is passed on for nullable members, whose rules accept or reject it. */
function coerceObject(type: GraphQLInputObjectType, value: unknown): CoercionResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: 'must be a JSON object' }
  const fields = new Map(Object.values(type.getFields()).map((field) => [toSnakeCase(field.name), field]))
  const errors = findUnknownNames(Object.keys(value), [...fields.keys()], 'a member of this object')
  const members: Record<string, unknown> = {}
  for (const [name, field] of fields) {
    const member = (value as Record<string, unknown>)[name]
    if (!Object.hasOwn(value, name) || member === undefined) continue
    const result =
      member === null && !isNonNullType(field.type) ? { value: null } : coerceValue(field.type, { value: member, from: 'json' })
    if ('value' in result) members[field.name] = result.value
    else errors.push(...toFieldErrors(result).map((error) => prefixFieldName(name, error)))
  }
  return errors.length > 0 ? { errors } : { value: members }
}

function coerceList(item: GraphQLInputType, value: unknown): CoercionResult {
  if (!Array.isArray(value)) return { error: 'must be an array' }
  const items = value.map((member) => coerceValue(item, { value: member, from: 'json' }))
  const error = items.find((member) => 'error' in member)
  return error && 'error' in error
    ? { error: `must be an array in which every item ${error.error}` }
    : { value: items.map((member) => ('value' in member ? member.value : null)) }
}

/**
 * Text must consist only of decimal digits, and must not have more digits than `max`. Signed, fractional and empty numbers are
 * therefore invalid.
 */
function coerceInteger(value: unknown, from: RawValue['from'], max: number): CoercionResult {
  const isDigits = /^\d+$/.test(String(value)) && String(value).length <= String(max).length
  const number = from === 'text' ? (isDigits ? Number(value) : Number.NaN) : value
  if (Number.isInteger(number) && Math.abs(number as number) <= max) return { value: number }
  const rejected = typeof value === 'string' || typeof value === 'number' ? value : undefined
  return { error: `must be a whole number of at most ${max}`, rejected }
}

const coercions: Record<string, (value: unknown, from: RawValue['from']) => CoercionResult> = {
  Int: (value, from) => coerceInteger(value, from, 2_147_483_647),
  Long: (value, from) => coerceInteger(value, from, Number.MAX_SAFE_INTEGER),
  Boolean: (value, from) => {
    const known = from === 'text' ? { true: true, false: false }[String(value)] : value
    return typeof known === 'boolean' ? { value: known } : { error: 'must be true or false' }
  },
  String: (value) => (typeof value === 'string' ? { value } : { error: 'must be a string' }),
  JSONObject: (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { value } : { error: 'must be a JSON object' },
  Upload: (value) => (value instanceof IncomingFile ? { value } : { error: 'must be a file' }),
}

const noFile = new IncomingFile('', () => Promise.reject(new Error('The placeholder file cannot be received.')))

function createPlaceholder(type: GraphQLInputType): unknown {
  const plain = getNullableType(type) as GraphQLInputType
  if (isListType(plain)) return []
  if (isEnumType(plain)) return plain.getValues()[0]!.name
  return { Int: 1, Long: 1, Boolean: false, JSONObject: {}, Upload: noFile }[plain.toString()] ?? 'x'
}

// Maximum number of reported names. The error message, the error details and the call log repeat each name.
const maxErrors = 50

/** Reports each unknown name together with the most similar known name, up to a maximum number. */
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
