import type { Express } from 'express'
import type { GraphQLSchema } from 'graphql'

/** The OpenAPI document and the page that shows it. */
export function mountDocumentation(_app: Express, _schema: GraphQLSchema): void {}
