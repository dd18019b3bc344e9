import { SchemaChecker } from './json-schema.js'
import type { ApiResponse } from './world.js'

type Json = Record<string, unknown>

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Json
}

interface RequestBody {
  required: boolean
  content: Record<string, { schema: Json; example?: unknown }>
}

export interface DocumentedOperation {
  operationId: string
  method: string
  /** Path with `{parameters}`. */
  path: string
  scope: string | null
  parameters: Parameter[]
  requestBody?: RequestBody
  responses: Record<string, Json>
}

/** An OpenAPI document that checks actual responses. */
export class DocumentedApi {
  readonly checker: SchemaChecker
  readonly operations: DocumentedOperation[]
  /** `operationId status` of every checked response. */
  readonly seen = new Set<string>()

  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  constructor(readonly document: any) {
    this.checker = new SchemaChecker(document)
    this.operations = Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, getOperation]) => ({
        ...(getOperation as unknown as DocumentedOperation),
        method: method.toUpperCase(),
        path,
        scope: getOperation['x-required-scope'] as string | null,
        ...(getOperation.requestBody !== undefined && {
          requestBody: this.#resolveSchemas(getOperation.requestBody as RequestBody),
        }),
        parameters: (getOperation.parameters as Json[]).map((parameter) => this.#resolveRefs(parameter) as unknown as Parameter),
      })),
    )
  }

  operation(operationId: string): DocumentedOperation {
    const found = this.operations.find((operation) => operation.operationId === operationId)
    if (!found) throw new Error(`The OpenAPI document has no operation ${operationId}.`)
    return found
  }

  /** Returns differences between a response and its description: status, content type, headers, body. */
  findMismatches(operationId: string, received: ApiResponse): string[] {
    const response = this.operation(operationId).responses[received.status]
    const place = `${operationId} ${received.status}`
    if (!response) return [`${place} is not described: ${JSON.stringify(received.body)}`]
    this.seen.add(place)
    const { content, headers } = this.#resolveRefs(response) as {
      content: Record<string, { schema: Json }>
      headers: Record<string, Json>
    }
    const type = received.headers.get('content-type')?.split(';')[0] ?? ''
    if (!content[type]) return [`${place} comes as '${type}', which is not described`]
    return [
      ...this.checker.findErrors(received.body, content[type].schema, place),
      ...Object.entries(headers).flatMap(([name, header]) =>
        this.#findHeaderMismatches(place, received, name, this.#resolveRefs(header)),
      ),
    ]
  }

  #findHeaderMismatches(place: string, response: ApiResponse, name: string, header: Json): string[] {
    const value = response.headers.get(name)
    if (value === null) return header.required === false ? [] : [`${place} has no header ${name}`]
    return this.checker.findErrors(value, header.schema as Json, `${place} ${name}`)
  }

  #resolveSchemas({ required, content }: RequestBody): RequestBody {
    const complete = Object.entries(content).map(([type, media]) => [type, { ...media, schema: this.#resolveRefs(media.schema) }])
    return { required, content: Object.fromEntries(complete) }
  }

  #resolveRefs(part: Json): Json {
    return typeof part.$ref === 'string' ? this.checker.resolve(part.$ref) : part
  }
}
