// npm run build: builds the packages, the Prisma client and dist/ if their sources changed. tsc alone would neither generate the
// Prisma client nor copy assets.
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare({ tools: true }))
console.log('The build is complete.')
