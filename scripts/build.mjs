// npm run build: packages, Prisma's client and dist/, whatever of it is not of these sources.
// tsc alone knows neither the generated client nor the files that go along.
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare({ tools: true }))
console.log('The build is complete.')
