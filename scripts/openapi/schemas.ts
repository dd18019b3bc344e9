import {
  type FragmentDefinitionNode,
  type GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import { toSnakeCase } from '../../src/platform/case-conversion.js'
import type { IdPrefix } from '../../src/platform/ids.js'

export type Json = Record<string, unknown>

/** Returns the schema of an object whose properties are all required. */
export const createClosedObjectSchema = (properties: Record<string, Json>): Json => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** Named schemas, each created once and then referenced. */
export class NamedSchemas {
  readonly all: Record<string, Json> = {}

  getReference(name: string, createSchema: () => Json): Json {
    const schema = createSchema()
    this.all[name] ??= schema
    if (JSON.stringify(this.all[name]) !== JSON.stringify(schema))
      throw new Error(`Two schemas have the name '${name}'. Use a named fragment for one of the selections.`)
    return { $ref: `#/components/schemas/${name}` }
  }
}

const scalars: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Int: { type: 'integer', format: 'int32' },
  Long: { type: 'integer', format: 'int64' },
  Float: { type: 'number', format: 'double' },
  DateTime: { type: 'string', format: 'date-time', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' },
  JSONObject: { type: 'object', additionalProperties: true },
  Upload: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
}

const toIdSchema = (prefix: IdPrefix): Json => ({ pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$` })

// Schemas that are stricter than the GraphQL scalar of their field.
const shapes: Record<string, Json> = {
  apiKeyId: toIdSchema('key'),
  fileId: toIdSchema('file'),
  // Allows any text, because the response repeats malformed ids from the request.
  'FileDeletion.fileId': {},
  contextId: toIdSchema('ctx'),
  tenantId: toIdSchema('ten'),
  callId: toIdSchema('call'),
  auditId: toIdSchema('aud'),
  apiKey: { pattern: '^assay_[A-Za-z0-9_-]{43}$' },
  checksum: { pattern: '^sha256:[0-9a-f]{64}$' },
  downloadUrl: { format: 'uri' },
}

/** Creates response schemas from a document's selection sets and the schema's types. Aliases become member names. */
export class ResponseSchemas {
  readonly #named: NamedSchemas
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>

  constructor(schemas: NamedSchemas, fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#named = schemas
    this.#fragments = fragments
  }

  toSchema(type: GraphQLOutputType, selection: SelectionSetNode | undefined, shape: Json = {}): Json {
    if (isNonNullType(type)) return this.#toNonNullSchema(type.ofType, selection, shape)
    return toNullable(this.#toNonNullSchema(type, selection, shape))
  }

  #toNonNullSchema(type: GraphQLOutputType, selection: SelectionSetNode | undefined, shape: Json): Json {
    if (isListType(type)) return { type: 'array', items: this.toSchema(type.ofType, selection) }
    if (isEnumType(type)) return toEnumSchema(this.#named, type)
    if (isObjectType(type)) return this.#toObjectSchema(type, selection!)
    return { ...toScalarSchema(String(type)), ...shape }
  }

  /** Names the schema after the fragment if the selection is a single fragment, and otherwise after the type. */
  #toObjectSchema(type: GraphQLObjectType, selection: SelectionSetNode): Json {
    const [only, ...others] = selection.selections
    if (only?.kind !== Kind.FRAGMENT_SPREAD || others.length > 0)
      return this.#named.getReference(type.name, () => this.#toMembersSchema(type, selection))
    const { selectionSet } = this.#fragments.get(only.name.value)!
    return this.#named.getReference(only.name.value, () => this.#toMembersSchema(type, selectionSet))
  }

  #toMembersSchema(type: GraphQLObjectType, { selections }: SelectionSetNode): Json {
    const properties: Record<string, Json> = {}
    for (const node of selections) {
      if (node.kind !== Kind.FIELD)
        throw new Error(
          `${type.name}: a selection in an API document cannot contain both a fragment and fields. Select only the fragment.`,
        )
      const field = type.getFields()[node.name.value]!
      properties[node.alias?.value ?? node.name.value] = withDescription(
        this.toSchema(field.type, node.selectionSet, shapes[`${type.name}.${field.name}`] ?? shapes[field.name]),
        field.description,
      )
    }
    return withDescription(createClosedObjectSchema(properties), type.description)
  }
}

/** Properties of an argument or input field that the documentation uses. */
export interface InputTarget {
  type: GraphQLInputType
  description?: string | null | undefined
  defaultValue?: unknown
  /** `jsonSchema` comes from the validation rule of the field (graphql/rules.ts). */
  extensions: Readonly<Record<string, unknown>>
}

export function toInputSchema(schemas: NamedSchemas, target: InputTarget): Json {
  const limits = target.extensions.jsonSchema as Json | undefined
  const limited = { ...toTypeSchema(schemas, target.type), ...limits }
  const { defaultValue } = target
  return { ...withDescription(limited, target.description), ...(defaultValue !== undefined && { default: defaultValue }) }
}

function toTypeSchema(schemas: NamedSchemas, type: GraphQLInputType): Json {
  const present = getNullableType(type) as GraphQLInputType
  if (isListType(present)) return { type: 'array', items: toTypeSchema(schemas, present.ofType) }
  if (isEnumType(present)) return toEnumSchema(schemas, present)
  if (isInputObjectType(present)) return toInputObjectSchema(schemas, present)
  return toScalarSchema(String(present))
}

/** Returns the schema of an input object that is a body member. In REST, other input objects are split into separate members. */
const toInputObjectSchema = (schemas: NamedSchemas, type: GraphQLInputObjectType): Json =>
  schemas.getReference(type.name, () => ({
    type: 'object',
    properties: Object.fromEntries(
      Object.values(type.getFields()).map((field) => [toSnakeCase(field.name), toInputSchema(schemas, field)]),
    ),
    additionalProperties: false,
  }))

function toEnumSchema(schemas: NamedSchemas, type: GraphQLEnumType): Json {
  return schemas.getReference(type.name, () => ({
    type: 'string',
    enum: type.getValues().map(({ name }) => name),
    description: [
      type.description ?? '',
      ...type.getValues().map(({ name, description }) => `- \`${name}\`: ${description ?? ''}`),
    ].join('\n'),
  }))
}

function toScalarSchema(name: string): Json {
  const schema = scalars[name]
  if (!schema) throw new Error(`The scalar ${name} has no JSON Schema. Add one in scripts/openapi/schemas.ts.`)
  return { ...schema }
}

const withDescription = (schema: Json, description: string | null | undefined): Json =>
  description ? { ...schema, description } : schema

export const toNullable = (schema: Json): Json =>
  [schema.type].flat().includes('null')
    ? schema
    : typeof schema.type === 'string'
      ? { ...schema, type: [schema.type, 'null'] }
      : { anyOf: [schema, { type: 'null' }] }
