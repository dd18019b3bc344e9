// Builds the packages, the Prisma client and dist/ if their sources changed (npm run build). tsc alone would neither generate
// the Prisma client nor copy assets.
import { exitOnError, prepare } from './prepare.mjs'

await exitOnError(() => prepare({ tools: true }))
console.log('The build is complete.')
