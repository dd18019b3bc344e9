// npm run admin, validate or verify: prepares the clone, then runs the program. Preparation messages go to standard error,
// because standard output belongs to the program.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitOnError, prepare } from './prepare.mjs'

const [name, ...args] = process.argv.slice(2)
await exitOnError(() => prepare({ say: (what) => console.error(what) }))
// npm runs scripts in the clone, but users pass paths relative to their own working directory.
if (['validate', 'verify'].includes(name) && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD)
const program = new URL(name === 'verify' ? '../packages/proofs/dist/command/main.js' : `../dist/cli/${name}.js`, import.meta.url)
// Administrator commands run in the clone, because it contains the configuration.
const named = args.map((arg, at) => (args[at - 1] === '--checkpoint' ? resolve(process.env.INIT_CWD ?? '.', arg) : arg))
process.argv = [process.argv[0], fileURLToPath(program), ...named]
await import(program)
