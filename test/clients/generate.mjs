// node generate.mjs DOCUMENT FOLDER: generates a client with each of the three generators, and the types of the GraphQL documents
// in `sessions`, as their guides describe. Also generates the types that the types of @assay/client must equal.
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
  // The generator types binary strings as `string`. Its guide recommends this hook for files.
  transform: (schema) => (schema.format === 'binary' ? blob : undefined),
})
writeFileSync(join(folder, 'openapi-typescript', 'api.ts'), astToString(types))
// A request may omit a field that has a default.
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
          // The browser's `File`, not the schema type with this name.
          scalars: { DateTime: 'string', JSONObject: 'Record<string, unknown>', Long: 'number', Upload: 'globalThis.File' },
        },
      },
    },
    emitLegacyCommonJSImports: false,
    silent: true,
  },
  true,
)
