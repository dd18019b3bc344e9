import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLNonNull,
  type GraphQLSchema,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import type { Endpoint } from '../../src/access/endpoint.js'
import type { Operation } from '../../src/api/rest/operations.js'
import type { Route } from '../../src/api/rest/routes.js'
import { type ErrorResponses, getErrorCodes, type OperationTraits } from './errors.js'
import { createBodyExample, createExample } from './examples.js'
import {
  createClosedObjectSchema,
  type InputTarget,
  type Json,
  type NamedSchemas,
  ResponseSchemas,
  toInputSchema,
  toNullable,
} from './schemas.js'

/** Components shared by all operations. */
export interface Shared {
  schema: GraphQLSchema
  named: NamedSchemas
  errors: ErrorResponses
}

interface Input {
  name: string
  required: boolean
  target: InputTarget
}

/** An endpoint that runs no GraphQL document. */
export interface DescribedEndpoint {
  operationId: string
  summary: string
  description: string[]
  parameters: Json[]
  headers?: Json
  /** Description of the success response. */
  response: string
  content: Json
  facts: Omit<OperationTraits, 'operation'>
}

/** A stored document together with the schema definitions of its root field and variables. */
export class DescribedOperation {
  readonly name: string
  readonly endpoint: Endpoint
  readonly field: GraphQLField<unknown, unknown>
  readonly inputs: readonly Input[]
  readonly #shared: Shared
  readonly #node: FieldNode
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>

  constructor(shared: Shared, operation: Operation) {
    this.#shared = shared
    this.name = operation.name
    this.endpoint = operation.endpoint
    const { definitions } = operation.document
    const definition = definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION) as OperationDefinitionNode
    const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]))
    this.#node = definition.selectionSet.selections[0] as FieldNode
    const root = definition.operation === 'mutation' ? shared.schema.getMutationType() : shared.schema.getQueryType()
    this.field = root!.getFields()[this.#node.name.value]!
    const paths = new Map([...operation.requestNames].map(([path, name]) => [name, path]))
    this.inputs = operation.variables.map(({ name, type }) => ({
      name,
      required: isNonNullType(type),
      target: this.#findTarget(paths.get(name)!),
    }))
  }

  describe(route: Route): Json {
    const inPath = this.inputs.filter(({ name }) => route.path.includes(`{${name}}`))
    const others = this.inputs.filter((input) => !inPath.includes(input))
    const query = route.body ? [] : others
    const idempotent = route.method === 'POST' && this.field.args.some(({ name }) => name === 'idempotencyKey')
    return {
      ...this.createOperationBase(route.summary, [this.field.description ?? '']),
      parameters: [
        ...inPath.map((input) => this.createParameter(input, 'path')),
        ...query.map((input) => this.createParameter(input, 'query')),
        ...(idempotent ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
      ],
      ...(route.body && { requestBody: this.createRequestBody(route, others) }),
      responses: {
        [String(route.status ?? 200)]: route.sendsPreview ? previewResponse : this.#createSuccessResponse(route, idempotent),
        ...this.getErrorResponses({
          operation: this.name,
          body: route.body,
          idempotent,
          hasValidatedParameters: query.length > 0 || inPath.some(({ target }) => isEnum(target)),
          // A list that is filtered by an unknown entity in the path is empty, so the operation does not return 404.
          hasResourceId: inPath.length > 0 && !inPath.some(({ target }) => isEnum(target)),
        }),
      },
    }
  }

  createOperationBase(summary: string, sentences: string[]): Json {
    const { access } = this.endpoint
    return {
      operationId: this.name.charAt(0).toLowerCase() + this.name.slice(1),
      summary,
      description: sentences.join('\n\n'),
      security: [{ bearer: [] }],
      'x-required-scope': access === 'any' ? null : access,
    }
  }

  /** Describes a GET endpoint that runs no GraphQL document but requires the same credential as this operation. */
  describeEndpoint(endpoint: DescribedEndpoint): Json {
    const { operationId, summary, description, parameters, headers, response, content, facts } = endpoint
    return {
      ...this.createOperationBase(summary, description),
      operationId,
      parameters,
      responses: {
        200: { description: response, headers: { ...successHeaders, ...headers }, content },
        ...this.getErrorResponses({ operation: operationId, ...facts }),
      },
    }
  }

  createParameter({ name, required, target }: Input, location: 'path' | 'query'): Json {
    const { description, ...schema } = toInputSchema(this.#shared.named, target)
    return {
      name,
      in: location,
      ...(description !== undefined && { description }),
      required: required || location === 'path',
      ...(schema.type === 'array' && { style: 'form', explode: false }),
      schema,
    }
  }

  /** Returns the schema of `data`, which is never null in a success response. In GraphQL, a rejected root field is null. */
  getDataSchema(): Json {
    const type = new GraphQLNonNull(getNullableType(this.field.type))
    return new ResponseSchemas(this.#shared.named, this.#fragments).toSchema(type, this.#node.selectionSet)
  }

  createExampleItem(): Record<string, unknown> {
    const { data } = createExample(this.#shared.named, this.getDataSchema()) as { data: [Record<string, unknown>] }
    return data[0]
  }

  getErrorResponses(traits: OperationTraits): Record<string, Json> {
    return this.#shared.errors.getResponses(getErrorCodes(traits))
  }

  /** Finds the argument or input field that a variable sets, such as `pageSize` or `input.maxFileSizeMb`. */
  #findTarget(path: string): InputTarget {
    const [first, ...rest] = path.split('.')
    let target: InputTarget = this.field.args.find(({ name }) => name === first)!
    for (const name of rest) {
      const type = isNonNullType(target.type) ? target.type.ofType : target.type
      if (!isInputObjectType(type)) throw new Error(`${this.name}: '${path}' does not lead to a field of an input object.`)
      target = type.getFields()[name]!
    }
    return target
  }

  #createSuccessResponse(route: Route, idempotent: boolean): Json {
    const schema = createEnvelope(route, this.getDataSchema())
    const example = createExample(this.#shared.named, schema)
    return {
      description: idempotent
        ? 'The operation succeeded. If the `Idempotency-Key` was used before, this is the stored response to the first request.'
        : 'The operation succeeded, and `data` contains its result.',
      headers: route.listedBy === undefined ? successHeaders : { ...successHeaders, Link: { $ref: '#/components/headers/Link' } },
      content: {
        'application/json': { schema, example },
        ...(route.receipt && {
          'application/jose': {
            schema: { type: 'string', description: 'The receipt as a compact JWS.' },
            example: (example as { data: { receipt: string } }).data.receipt,
          },
        }),
        ...(route.streams && {
          'text/event-stream': {
            schema: {
              type: 'string',
              description: 'Server-sent events: one event for each item in the list, followed by new items as they occur.',
            },
            example: `id: 4711\ndata: ${JSON.stringify(this.createExampleItem())}\n\n`,
          },
        }),
      },
    }
  }

  /** `name` is the name of the body's schema. */
  createRequestBody(route: Route, inputs: readonly Input[], name = `${this.name}Body`): Json {
    const required = inputs.filter((input) => input.required).map(({ name }) => name)
    // Null means omitted, except in a PATCH request, in which null can be a new value.
    const nullable = route.body === 'json' && route.method !== 'PATCH'
    const properties = Object.fromEntries(
      inputs.map((input) => {
        const schema = toInputSchema(this.#shared.named, input.target)
        return [input.name, (nullable && !input.required) || route.nullable?.includes(input.name) ? toNullable(schema) : schema]
      }),
    )
    const schema = this.#shared.named.getReference(name, () => ({
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    }))
    const example = createBodyExample(this.#shared.named, schema)
    return {
      required: required.length > 0,
      content:
        route.body === 'json'
          ? { 'application/json': { schema, example } }
          : { 'multipart/form-data': { schema, ...createEncodings(properties), example } },
    }
  }
}

const isEnum = ({ type }: InputTarget) => isEnumType(isNonNullType(type) ? type.ofType : type)

// Declares form parts with object values as JSON.
function createEncodings(properties: Record<string, Json>): Json {
  const objects = Object.keys(properties).filter((name) => properties[name]!.type === 'object')
  return objects.length > 0
    ? { encoding: Object.fromEntries(objects.map((name) => [name, { contentType: 'application/json' }])) }
    : {}
}

export const createEnvelope = ({ message, timestamp }: Pick<Route, 'message' | 'timestamp'>, data: Json): Json =>
  createClosedObjectSchema({
    status: { const: 'SUCCESS' },
    ...(message !== undefined && { message: { type: 'string', example: message } }),
    data,
    ...(timestamp !== false && { timestamp: { type: 'string', format: 'date-time' } }),
  })

const successHeaders: Json = Object.fromEntries(
  ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

const previewResponse: Json = {
  description: 'Preview of the file: a rendered image, or the first 64 KiB of a text file in UTF-8.',
  headers: {
    ...successHeaders,
    ETag: { description: 'Entity tag, which changes when the content of the preview changes.', schema: { type: 'string' } },
    'Preview-Pages': {
      description: 'Number of pages in the file. Always 1 unless the file is a PDF.',
      schema: { type: 'string', pattern: '^\\d+$' },
    },
    'Preview-Truncated': {
      description: '`true` if the preview contains only the start of the text.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
  },
  content: {
    'image/webp': { schema: { type: 'string', contentMediaType: 'image/webp' } },
    'text/plain': { schema: { type: 'string' }, example: 'id,amount\n4711,12.50\n' },
  },
}
