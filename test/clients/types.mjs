// node test/clients/types.mjs (npm run client:types): writes src/client/generated/openapi.ts, the types of our own client, from the
// OpenAPI document of this build. A test fails while they differ.
import 'reflect-metadata'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'

const path = fileURLToPath(new URL('../../src/client/generated/openapi.ts', import.meta.url))

/** The text of the types. What has a default may be left out of a request. */
export const typesOf = async (document) =>
  `// Made by npm run client:types; do not edit.\n${astToString(await openapiTS(structuredClone(document), { defaultNonNullable: false }))}`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [{ buildSchema }, { resolversOf }, { openApiDocument }] = await Promise.all(
    ['graphql/schema', 'resolvers', 'openapi/openapi'].map((name) => import(`../../dist/${name}.js`)),
  )
  writeFileSync(path, await typesOf(openApiDocument(buildSchema(resolversOf({})))))
}
