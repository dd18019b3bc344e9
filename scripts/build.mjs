// npm run build: packages, Prisma's client and dist/, whatever of it is not of these sources.
import { orFail, prepare } from './prepare.mjs'

await orFail(() => prepare())
console.log('Everything is built.')
