type Schema = Record<string, unknown>

/**
 * Validates values against the schemas of an OpenAPI document and returns one sentence per error. It rejects unknown keywords so
 * that none is ignored.
 */
export class SchemaChecker {
  constructor(private readonly document: Schema) {}

  /** Resolves a reference such as `#/components/…`. */
  resolve(ref: string): Schema {
    let at: unknown = this.document
    for (const step of ref.slice(2).split('/'))
      at = (at as Schema | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
    if (!ref.startsWith('#/') || at === undefined) throw new Error(`The reference '${ref}' cannot be resolved.`)
    return at as Schema
  }

  findErrors(value: unknown, schema: Schema, place = '$'): string[] {
    return Object.entries(schema).flatMap(([keyword, argument]) => {
      const check = keywords[keyword]
      if (!check) throw new Error(`The schema keyword '${keyword}' is not supported.`)
      return check(value, argument as never, { place, checker: this, schema }) ?? []
    })
  }
}

type Check = (
  value: unknown,
  argument: never,
  at: { place: string; checker: SchemaChecker; schema: Schema },
) => string[] | undefined

const ignoreAnnotation: Check = () => undefined
const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
const toError = (place: string, value: unknown, must: string) => [`${place} is ${JSON.stringify(value)}; it must be ${must}`]

const types: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: isObject,
  null: (value) => value === null,
}

const formats: Record<string, (value: string | number) => boolean> = {
  'date-time': (value) => !Number.isNaN(Date.parse(String(value))) && String(value).endsWith('Z'),
  uri: (value) => URL.canParse(String(value)),
  binary: (value) => typeof value === 'string',
  int32: (value) => Math.abs(Number(value)) < 2 ** 31,
  int64: (value) => Number.isSafeInteger(value),
  double: (value) => Number.isFinite(value),
}

/** Defines a keyword that applies to one type. */
const defineKeyword =
  <V, A>(is: (value: unknown) => boolean, holds: (value: V, argument: A) => boolean, must: (argument: A) => string): Check =>
  (value, argument, { place }) =>
    is(value) && !holds(value as V, argument as A) ? toError(place, value, must(argument as A)) : undefined

const keywords: Record<string, Check> = {
  description: ignoreAnnotation,
  example: ignoreAnnotation,
  default: ignoreAnnotation,
  contentMediaType: ignoreAnnotation,
  discriminator: ignoreAnnotation,
  $ref: (value, ref: string, { place, checker }) => checker.findErrors(value, checker.resolve(ref), place),
  anyOf: (value, choices: Schema[], { place, checker }) =>
    choices.some((choice) => checker.findErrors(value, choice, place).length === 0)
      ? undefined
      : toError(place, value, 'one of anyOf'),
  oneOf: (value, choices: Schema[], { place, checker }) =>
    choices.filter((choice) => checker.findErrors(value, choice, place).length === 0).length === 1
      ? undefined
      : toError(place, value, 'exactly one of oneOf'),
  type: (value, type: string | string[], { place }) =>
    [type].flat().some((name) => types[name]!(value))
      ? undefined
      : toError(place, value, `of type ${[type].flat().join(' or ')}`),
  const: (value, constant: unknown, { place }) => (value === constant ? undefined : toError(place, value, `${constant}`)),
  enum: (value, choices: unknown[], { place }) =>
    choices.includes(value) ? undefined : toError(place, value, `one of ${choices.join(', ')}`),
  format: defineKeyword<string | number, string>(
    (value) => typeof value === 'string' || typeof value === 'number',
    (value, name) => formats[name]!(value),
    (name) => `a ${name}`,
  ),
  pattern: defineKeyword<string, string>(
    types.string!,
    (value, pattern) => new RegExp(pattern, 'u').test(value),
    (pattern) => `like ${pattern}`,
  ),
  minLength: defineKeyword<string, number>(
    types.string!,
    (value, least) => [...value].length >= least,
    (least) => `at least ${least} long`,
  ),
  maxLength: defineKeyword<string, number>(
    types.string!,
    (value, max) => [...value].length <= max,
    (max) => `at most ${max} long`,
  ),
  minimum: defineKeyword<number, number>(
    types.number!,
    (value, least) => value >= least,
    (least) => `at least ${least}`,
  ),
  maximum: defineKeyword<number, number>(
    types.number!,
    (value, max) => value <= max,
    (max) => `at most ${max}`,
  ),
  minItems: defineKeyword<unknown[], number>(
    types.array!,
    (value, least) => value.length >= least,
    (least) => `of at least ${least} items`,
  ),
  maxItems: defineKeyword<unknown[], number>(
    types.array!,
    (value, max) => value.length <= max,
    (max) => `of at most ${max} items`,
  ),
  items: (value, items: Schema, { place, checker }) =>
    Array.isArray(value) ? value.flatMap((item, index) => checker.findErrors(item, items, `${place}[${index}]`)) : undefined,
  properties: (value, properties: Record<string, Schema>, { place, checker }) =>
    isObject(value)
      ? Object.entries(properties).flatMap(([name, schema]) =>
          name in value ? checker.findErrors(value[name], schema, `${place}.${name}`) : [],
        )
      : undefined,
  required: (value, names: string[], { place }) =>
    isObject(value) ? names.filter((name) => !(name in value)).map((name) => `${place} has no '${name}'`) : undefined,
  additionalProperties: (value, allowed: boolean, { place, schema }) =>
    isObject(value) && !allowed
      ? Object.keys(value)
          .filter((name) => !(name in (schema.properties as Schema)))
          .map((name) => `${place} has '${name}', which is not described`)
      : undefined,
}
