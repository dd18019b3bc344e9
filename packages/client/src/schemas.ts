import type { components } from './generated/openapi.js'

/** Types of the request and response bodies, by their names in the OpenAPI document. */
export type Schemas = components['schemas']
