import { verifyCommand } from './verify-command.js'

// Runs `npm run verify`. It reads only files and needs no configuration, database or network.
process.exitCode = await verifyCommand(process.argv.slice(2), {
  writeOutput: (line) => console.log(line),
  writeError: (line) => console.error(line),
})
