// npm run admin, validate, verify -- …: prepares the clone, then becomes dist/<name>.js.
// Standard output belongs to the program: what preparing has to say goes to standard error.
// No package's job: a bin entry of our own would run before the clone is prepared.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { orFail, prepare } from './prepare.mjs'

const [name, ...args] = process.argv.slice(2)
await orFail(() => prepare({ say: (what) => console.error(what) }))
// npm runs its scripts in the clone; what the user names is relative to where the user stands.
if (['validate', 'verify'].includes(name) && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD)
const program = new URL(name === 'verify' ? '../packages/proofs/dist/command/main.js' : `../dist/cli/${name}.js`, import.meta.url)
// An administrator's command stays in the clone, where its configuration is.
const named = args.map((arg, at) => (args[at - 1] === '--checkpoint' ? resolve(process.env.INIT_CWD ?? '.', arg) : arg))
process.argv = [process.argv[0], fileURLToPath(program), ...named]
await import(program)
