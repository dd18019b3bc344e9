// npm run build: builds the packages, the Prisma client and dist/ if their sources changed. tsc does not build the generated
// client or copy other files.
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare({ tools: true }))
console.log('The build is complete.')
