import { writeFileSync } from 'node:fs'
import { buildSchema, schemaText } from '../api/graphql/schema.js'
import { createResolvers } from '../features/resolvers.js'

// npm run schema: the resolvers tell what the schema is without ever being asked, so that nothing behind them need be there.
writeFileSync('schema.graphql', schemaText(buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0]))))
