// npm run admin, validate, verify -- …: prepares the clone, then runs dist/<name>.js. Standard output belongs to that program,
// and messages of the preparation go to standard error.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { orFail, prepare } from './prepare.mjs'

const [name, ...args] = process.argv.slice(2)
await orFail(() => prepare({ say: (what) => console.error(what) }))
// npm runs scripts in the clone, but paths of the user are relative to the directory of the user.
if (['validate', 'verify'].includes(name) && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD)
const program = new URL(name === 'verify' ? '../packages/proofs/dist/command/main.js' : `../dist/cli/${name}.js`, import.meta.url)
// An administrator command stays in the clone, which contains its configuration.
const named = args.map((arg, at) => (args[at - 1] === '--checkpoint' ? resolve(process.env.INIT_CWD ?? '.', arg) : arg))
process.argv = [process.argv[0], fileURLToPath(program), ...named]
await import(program)
