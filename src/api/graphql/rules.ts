import { Extensions, type ValidatorFn } from 'type-graphql'
import type { Call } from '../../access/call.js'
import { canStoreAsJsonb } from '../../ledger/entry.js'
import { badUserInput, type FieldError } from '../../platform/errors/errors.js'
import { removeInvisibleCharacters, toSingleLine } from '../../platform/text.js'
import { NullableField } from './decorators.js'

type IsValid = (value: unknown) => boolean

interface FieldRules {
  rules: { isValid: IsValid; message: string; isRange?: boolean }[]
  clean?: (value: unknown) => unknown
  /** True if null is invalid. Otherwise, null is treated as omitted. */
  rejectsNull?: boolean
}

const declared = new WeakMap<object, Map<string, FieldRules>>()

function getRules(target: object, key: string | symbol): FieldRules {
  const fields = declared.get(target) ?? new Map<string, FieldRules>()
  declared.set(target, fields)
  const rules = fields.get(key as string) ?? { rules: [] }
  fields.set(key as string, rules)
  return rules
}

/**
 * Declares a validation rule for a field. The rule does not apply to an omitted or null value. `message` completes a sentence
 * that begins with the field name. `jsonSchema` describes the rule in the OpenAPI document.
 */
export const Rule =
  (isValid: IsValid, message: string, jsonSchema: Record<string, unknown> = {}): PropertyDecorator =>
  (target, key) => {
    getRules(target, key).rules.unshift({ isValid, message })
    Extensions({ jsonSchema })(target, key as string)
  }

/** Declares a field that an update can omit. Null is rejected, because it could be mistaken for a new value. */
export const UpdateField =
  (...field: Parameters<typeof NullableField>): PropertyDecorator =>
  (target, key) => {
    NullableField(...field)(target, key)
    getRules(target, key).rejectsNull = true
  }

export const BooleanUpdateField =
  (description: string): PropertyDecorator =>
  (target, key) => {
    UpdateField(() => Boolean, description)(target, key)
    Rule((value) => typeof value === 'boolean', 'must be true or false')(target, key)
  }

/** Requires text that PostgreSQL can store, with a limited number of code points. */
export const Text = (min: number, max: number): PropertyDecorator =>
  Rule(
    (value) =>
      typeof value === 'string' &&
      // Reject long text without counting its code points, which would take time. A code point has at most two UTF-16 code units.
      value.length <= 2 * max &&
      !value.includes('\0') &&
      value.isWellFormed() &&
      isWithin([...value].length, min, max),
    min === 0 ? `must be a string of at most ${max} characters` : `must be a string of ${min} to ${max} characters`,
    { ...(min > 0 && { minLength: min }), maxLength: max },
  )

const isWithin = (count: number, min: number, max: number): boolean => count >= min && count <= max

export const IntegerRange =
  (min: number, max: number): PropertyDecorator =>
  (target, key) => {
    const isInRange = (value: unknown) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max
    Rule(isInRange, `must be between ${min} and ${max}`, { minimum: min, maximum: max })(target, key)
    getRules(target, key).rules[0]!.isRange = true
  }

/** Requires a list of 1 to 100 context keys. */
export const ContextKeys = (): PropertyDecorator =>
  Rule((value) => Array.isArray(value) && isWithin(value.length, 1, 100), 'must be 1 to 100 context keys', {
    minItems: 1,
    maxItems: 100,
  })

export const DateString = (): PropertyDecorator =>
  Rule(
    (value) =>
      typeof value === 'string' &&
      /^\d{4}-\d{2}-\d{2}($|T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$)/.test(value) &&
      !Number.isNaN(Date.parse(value)) &&
      // Reject dates that do not exist. JavaScript would parse 30 February as 2 March.
      new Date(value.slice(0, 10)).toISOString().startsWith(value.slice(0, 10)),
    'must be in ISO 8601 format, such as 2026-01-31 or 2026-01-31T12:00:00Z',
  )

/** A period from `from` (inclusive) to `until` (exclusive). Null means unlimited. */
export interface Window {
  from: Date | null
  until: Date | null
}

const dayMs = 86_400_000

/**
 * Converts two inclusive bounds to a period with millisecond precision. An end date without a time includes the whole day. A time
 * without a time zone is interpreted as UTC.
 */
export const toTimeWindow = ({ startDate, endDate }: { startDate?: string | null; endDate?: string | null }): Window => ({
  from: startDate ? parseUtc(startDate) : null,
  until: endDate ? new Date(parseUtc(endDate).getTime() + (/^\d{4}-\d{2}-\d{2}$/.test(endDate) ? dayMs : 1)) : null,
})

const parseUtc = (text: string): Date =>
  new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) || /(Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`)

export const maxMetadataBytes = 16 * 1024
// Maximum nesting of metadata. JSON.stringify and PostgreSQL's jsonb parser overflow their stacks at a few thousand levels.
const maxMetadataLevels = 500

export const Metadata = (): PropertyDecorator =>
  Rule(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      isWithinDepth(value, maxMetadataLevels) &&
      Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes &&
      canStoreAsJsonb(value),
    'must be a JSON object of at most 16 KiB and 500 levels, without NUL characters or numbers beyond 1.8e308',
  )

/** Checks the value level by level, because recursion could overflow the stack. */
function isWithinDepth(value: object, maxDepth: number): boolean {
  let level: object[] = [value]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    level = level.flatMap((item) => Object.values(item).filter((member): member is object => isNested(member)))
  }
  return true
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null

/** Requires text that may contain line breaks. Removes invisible characters before validation. */
export const MultiLineText = (min: number, max: number): PropertyDecorator =>
  withTextCleanup(Text(min, max), removeInvisibleCharacters)

/** Requires text. Replaces line breaks with spaces and removes invisible characters before validation. */
export const SingleLineText = (min: number, max: number): PropertyDecorator => withTextCleanup(Text(min, max), toSingleLine)

const withTextCleanup =
  (rule: PropertyDecorator, clean: (text: string) => string): PropertyDecorator =>
  (target, key) => {
    rule(target, key)
    getRules(target, key).clean = (value) => (typeof value === 'string' ? clean(value) : value)
  }

/** Returns an error for each input field whose value the configuration does not allow. */
export type FindErrors = (input: object) => FieldError[]

export const createArgumentValidator =
  (findSettingsErrors?: FindErrors): ValidatorFn =>
  (value, type, { context }) =>
    validateArguments(context as Call, value, type, findSettingsErrors)

/** Throws a single error that lists all invalid arguments, named as in the request. */
export function validateArguments(call: Call, value: unknown, type: unknown, findSettingsErrors: FindErrors = () => []): void {
  // A scalar argument has no rules. The object that contains all arguments is validated separately.
  if (!isObject(value)) return
  const isInput = typeof type === 'function' && type.name.endsWith('Input')
  const toRequestName = (field: string) => call.requestName(isInput ? `input.${field}` : field)
  const errors = call.inputErrors.map((error) => toRangeError(error, value, toRequestName))
  for (const error of isInput ? [...findFieldErrors(value), ...findSettingsErrors(value)] : findFieldErrors(value)) {
    const field = toRequestName(error.field)
    if (!errors.some((known) => known.field === field)) errors.push({ ...error, field })
  }
  if (errors.length > 0) throw badUserInput(errors)
}

/**
 * Replaces the message for an invalid number (too large, negative, fractional or text) with one that states the allowed range.
 */
function toRangeError(error: FieldError, input: object, toRequestName: (field: string) => string): FieldError {
  if (error.value === undefined) return error
  for (const [field, { rules }] of getDeclaredRules(input)) {
    const range = toRequestName(field) === error.field && rules.find(({ isRange }) => isRange)
    if (range)
      return {
        ...error,
        message: isIntegerText(error.value) ? range.message : range.message.replace('must be', 'must be a whole number'),
      }
  }
  return error
}

const isIntegerText = (value: string | number): boolean => /^-?\d+$/.test(String(value))

/** Yields the rules of the object's class and its base classes. */
function* getDeclaredRules(value: object): Generator<[string, FieldRules]> {
  for (let type = Object.getPrototypeOf(value); type && type !== Object.prototype; type = Object.getPrototypeOf(type))
    yield* declared.get(type) ?? []
}

/**
 * Cleans the text fields, and returns an error for each field that violates a rule, including inherited rules. For each field,
 * only the first violated rule is reported.
 */
export function findFieldErrors(value: object): FieldError[] {
  const errors: FieldError[] = []
  const object = value as Record<string, unknown>
  for (const [field, { rules, clean, rejectsNull }] of getDeclaredRules(value)) {
    if (object[field] === undefined || (object[field] === null && !rejectsNull)) continue
    if (clean) object[field] = clean(object[field])
    const broken = rules.find(({ isValid }) => !isValid(object[field]))
    if (!broken || errors.some((known) => known.field === field)) continue
    errors.push({
      field,
      message: broken.message,
      ...(broken.isRange && typeof object[field] === 'number' && { value: object[field] }),
    })
  }
  for (const [field, member] of Object.entries(value))
    if (isObject(member) && declared.has(Object.getPrototypeOf(member)))
      errors.push(...findFieldErrors(member).map((error) => ({ ...error, field: `${field}.${error.field}` })))
  return errors
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
