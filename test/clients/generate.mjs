// node generate.mjs DOCUMENT FOLDER: runs each of the three client generators and generates the types of the GraphQL documents in
// `sessions`, as their guides describe. Also generates reference types for @assay/client.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { generate as generateGraphql } from '@graphql-codegen/cli'
import { createClient } from '@hey-api/openapi-ts'
import openapiTS, { astToString } from 'openapi-typescript'
import { generate } from 'orval'
import ts from 'typescript'

const [document, folder] = process.argv.slice(2).map((path) => resolve(path))
const blob = ts.factory.createTypeReferenceNode('Blob')

mkdirSync(join(folder, 'openapi-typescript'), { recursive: true })
const types = await openapiTS(JSON.parse(readFileSync(document, 'utf8')), {
  // The generator's guide recommends this hook for files because binary strings have the type `string` by default.
  transform: (schema) => (schema.format === 'binary' ? blob : undefined),
})
writeFileSync(join(folder, 'openapi-typescript', 'api.ts'), astToString(types))
// A request may omit a field with a default.
const requestTypes = await openapiTS(JSON.parse(readFileSync(document, 'utf8')), { defaultNonNullable: false })
writeFileSync(join(folder, 'openapi-typescript', 'expected.ts'), astToString(requestTypes))
await createClient({
  input: document,
  output: join(folder, 'hey-api'),
  plugins: ['@hey-api/client-fetch'],
  logs: { level: 'silent' },
})
await generate({
  input: document,
  output: { target: join(folder, 'orval', 'api.ts'), client: 'fetch', baseUrl: process.env.ASSAY_URL },
})
await generateGraphql(
  {
    schema: `${process.env.ASSAY_URL}/graphql`,
    documents: ['sessions/documents.ts'],
    generates: {
      [join(folder, 'graphql/')]: {
        preset: 'client',
        presetConfig: { fragmentMasking: false },
        config: {
          strictScalars: true,
          // `File` is the browser class, not the schema type of the same name.
          scalars: { DateTime: 'string', JSONObject: 'Record<string, unknown>', Long: 'number', Upload: 'globalThis.File' },
        },
      },
    },
    emitLegacyCommonJSImports: false,
    silent: true,
  },
  true,
)
