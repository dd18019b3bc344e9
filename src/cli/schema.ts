import { writeFileSync } from 'node:fs'
import { buildSchema, formatSchema } from '../api/graphql/schema.js'
import { createResolvers } from '../features/resolvers.js'

// npm run schema: writes schema.graphql. The schema depends only on the resolver classes, so no services are needed.
writeFileSync('schema.graphql', formatSchema(buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0]))))
