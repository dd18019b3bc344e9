// npm run schema: writes schema.graphql.
import { writeFileSync } from 'node:fs'
import { exitOnError, prepare } from './prepare.mjs'

await exitOnError(() => prepare())
await import('reflect-metadata')
const { buildSchema, formatSchema } = await import('../dist/api/graphql/schema.js')
const { createResolvers } = await import('../dist/features/resolvers.js')
// The schema depends only on the resolver classes, so no services are needed.
writeFileSync(new URL('../schema.graphql', import.meta.url), formatSchema(buildSchema(createResolvers({}))))
