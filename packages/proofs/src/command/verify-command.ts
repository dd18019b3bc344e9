import { parseArgs } from 'node:util'
import { verifyFiles } from './verify-files.js'

/** Output streams of the command. Each call writes one line. */
export interface CommandIo {
  writeOutput: (line: string) => void
  writeError: (line: string) => void
}

const usage = `npm run --silent verify -- RECEIPT.jws [FILE] --keys JWKS.json

Verifies a receipt offline and prints the result of each check.

  RECEIPT.jws  response of GET /api/v1/files/{file_id}/receipt, or the JWS that it contains
  FILE         file to compare with the receipt
  JWKS.json    copy of the service's /.well-known/jwks.json, downloaded over a trusted connection

Exit status: 0 if all checks pass, otherwise 1.`

/** Runs `npm run verify`. Returns the exit status: 0 if all checks pass, otherwise 1. */
export async function runVerifyCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { receiptPath, filePath, keysPath } = parseArguments(argv)
    const findings = await verifyFiles({ receiptPath, filePath, keysPath })
    for (const { proven, message } of findings) io.writeOutput(`${proven ? 'Proven:' : 'NOT PROVEN:'} ${message}`)
    if (filePath === undefined)
      io.writeOutput('Not checked: no file was compared with the receipt. To compare one, add its path after the receipt.')
    const isProven = findings.every(({ proven }) => proven)
    io.writeOutput(isProven ? 'All checks passed.' : 'Some checks failed. Do not rely on this receipt.')
    return isProven ? 0 : 1
  } catch (error) {
    io.writeError(error instanceof Error ? error.message : String(error))
    return 1
  }
}

function parseArguments(argv: readonly string[]) {
  let parsed: { values: { keys?: string | undefined }; positionals: string[] }
  try {
    parsed = parseArgs({ args: [...argv], options: { keys: { type: 'string' } }, allowPositionals: true })
  } catch {
    throw new Error(usage)
  }
  const [receiptPath, filePath, ...more] = parsed.positionals
  const keysPath = parsed.values.keys
  if (receiptPath === undefined || keysPath === undefined || more.length > 0) throw new Error(usage)
  return { receiptPath, filePath, keysPath }
}
