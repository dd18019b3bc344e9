// npm run types for the dashboard: validates GraphQL operations against schema.graphql and type-checks the code with tsc. The
// gql.tada command cannot be used, because TypeScript 7 has no JavaScript API.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSchema, introspectionFromSchema } from 'graphql'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = `${root}dashboard/generated/schema.d.ts`

const schema = buildSchema(readFileSync(`${root}schema.graphql`, 'utf8'))
const introspection = introspectionFromSchema(schema, { descriptions: false, directiveIsRepeatable: false })
const types = introspection.__schema.types.filter(({ name }) => !name.startsWith('__'))
mkdirSync(dirname(target), { recursive: true })
writeFileSync(
  target,
  `export type introspection = ${JSON.stringify({ __schema: { ...introspection.__schema, types, directives: [] } })}\n`,
)

const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'dashboard/tsconfig.json'], {
  cwd: root,
  stdio: 'inherit',
})
process.exit(tsc.status ?? 1)
