import { verifyCommand } from './verify-command.js'

// npm run verify: works on files alone, without configuration, database and network.
process.exitCode = await verifyCommand(process.argv.slice(2), {
  writeOutput: (line) => console.log(line),
  writeError: (line) => console.error(line),
})
