import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { checkReceipt, parseKeySet } from '../check-receipt.js'

/** Standard output and standard error of the command, by line. */
export interface CommandIo {
  writeOutput: (line: string) => void
  writeError: (line: string) => void
}

const usage = `npm run --silent verify -- RECEIPT.jws [FILE] --keys JWKS.json

Says what a receipt proves, without the service and without a network. RECEIPT.jws is what GET /files/{file_id}/receipt answered, FILE
the file that it should be for, JWKS.json the service's /.well-known/jwks.json, saved when you trusted where it came from.
The exit status is 0 where everything is proven, and 1 otherwise.`

const maxTextFileBytes = 10_000_000

/** `npm run verify`. Its answer is the exit status: 0 where everything asked for is proven, 1 otherwise. */
export async function verifyCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { receiptPath, filePath, keysPath } = parseArguments(argv)
    const keys = parseKeySet(await readTextFile(keysPath))
    const receipt = extractReceipt(await readTextFile(receiptPath))
    const findings = await checkReceipt({ receipt, keys, file: filePath === undefined ? undefined : await hashFile(filePath) })
    for (const { proven, message } of findings) io.writeOutput(`${proven ? 'Proven:' : 'NOT PROVEN:'} ${message}`)
    if (filePath === undefined) io.writeOutput('Not asked: whether a file is the one that was judged; name it after the receipt.')
    const isProven = findings.every(({ proven }) => proven)
    io.writeOutput(isProven ? 'Everything asked for is proven.' : 'Not everything is proven: do not rely on this receipt.')
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

/** A bare JWS, or the service's answer around it. */
function extractReceipt(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{')) return trimmed
  try {
    const { receipt, data } = JSON.parse(trimmed) as { receipt?: unknown; data?: { receipt?: unknown } }
    return String(receipt ?? data?.receipt)
  } catch {
    return trimmed
  }
}

async function readTextFile(path: string): Promise<string> {
  const { size } = await stat(path).catch(throwReadError(path))
  if (size > maxTextFileBytes) throw new Error(`${path} has ${size} bytes; neither a receipt nor a key set has so many.`)
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
    throw new Error(code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read (${code}).`)
  }
