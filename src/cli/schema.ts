import { writeFileSync } from 'node:fs'
import { buildSchema, schemaText } from '../api/graphql/schema.js'
import { createResolvers } from '../features/resolvers.js'

// npm run schema: the schema depends only on the classes of the resolvers, so that they need no services here.
writeFileSync('schema.graphql', schemaText(buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0]))))
