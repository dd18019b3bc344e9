import type { components } from './generated/openapi.js'

/** Types of request and response bodies, named as in the OpenAPI document. */
export type Schemas = components['schemas']
