import { runVerifyCommand } from './verify-command.js'

// Entry point of `npm run verify`. It reads only files, and needs no configuration, database or network.
process.exitCode = await runVerifyCommand(process.argv.slice(2), {
  writeOutput: (line) => console.log(line),
  writeError: (line) => console.error(line),
})
