import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { checkReceipt, extractReceipt, parseKeySet } from '../check-receipt.js'

/** Writes lines to standard output and standard error. */
export interface CommandIo {
  writeOutput: (line: string) => void
  writeError: (line: string) => void
}

const usage = `npm run --silent verify -- RECEIPT.jws [FILE] --keys JWKS.json

Verifies a receipt offline and prints what it proves.

  RECEIPT.jws  response of GET /api/v1/files/{file_id}/receipt, or the receipt in it
  FILE         file to compare with the receipt
  JWKS.json    /.well-known/jwks.json of the service, saved over a connection that you trust

Exit status: 0 if everything is proven, otherwise 1.`

const maxTextFileBytes = 10_000_000

/** Runs `npm run verify`. Returns the exit status: 0 if everything is proven, otherwise 1. */
export async function verifyCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { receiptPath, filePath, keysPath } = parseArguments(argv)
    const keys = parseKeySet(await readTextFile(keysPath))
    const receipt = extractReceipt(await readTextFile(receiptPath))
    const findings = checkReceipt({ receipt, keys, file: filePath === undefined ? undefined : await hashFile(filePath) })
    for (const { proven, message } of findings) io.writeOutput(`${proven ? 'Proven:' : 'NOT PROVEN:'} ${message}`)
    if (filePath === undefined)
      io.writeOutput('Not checked: no file was compared. To compare one, add its path after the receipt.')
    const isProven = findings.every(({ proven }) => proven)
    io.writeOutput(isProven ? 'Everything is proven.' : 'Not everything is proven. Do not rely on this receipt.')
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

async function readTextFile(path: string): Promise<string> {
  const { size } = await stat(path).catch(throwReadError(path))
  if (size > maxTextFileBytes)
    throw new Error(`${path} has ${size} bytes. A receipt or key set has at most ${maxTextFileBytes} bytes.`)
  return readFile(path, 'utf8').catch(throwReadError(path))
}

async function hashFile(path: string) {
  const hash = createHash('sha256')
  let sizeBytes = 0
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      sizeBytes += chunk.length
    }
  } catch (error) {
    throwReadError(path)(error as NodeJS.ErrnoException)
  }
  return { name: basename(path), sizeBytes, sha256: hash.digest('hex') }
}

const throwReadError =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new Error(code === 'ENOENT' ? `File ${path} does not exist.` : `Cannot read ${path} (${code}).`)
  }
