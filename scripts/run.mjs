// npm run admin -- … and npm run validate -- …: prepares the clone, then becomes dist/<name>.js.
// Standard output belongs to the program: what preparing has to say goes to standard error.
import { fileURLToPath } from 'node:url'
import { orFail, prepare } from './prepare.mjs'

const [name, ...args] = process.argv.slice(2)
await orFail(() => prepare((what) => console.error(what)))
const program = new URL(`../dist/cli/${name}.js`, import.meta.url)
process.argv = [process.argv[0], fileURLToPath(program), ...args]
await import(program)
