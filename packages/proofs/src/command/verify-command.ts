import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { checkReceipt, readKeySet } from '../check-receipt.js'

/** Standard output and standard error of the command, by line. */
export interface CommandIo {
  out: (line: string) => void
  err: (line: string) => void
}

const usage = `npm run --silent verify -- RECEIPT.jws [FILE] --keys JWKS.json

Says what a receipt proves, without the service and without a network. RECEIPT.jws is what GET /files/{file_id}/receipt answered, FILE
the file that it should be for, JWKS.json the service's /.well-known/jwks.json, saved when you trusted where it came from.
The exit status is 0 where everything is proven, and 1 otherwise.`

const mostBytes = 10_000_000

/** `npm run verify`. Its answer is the exit status: 0 where everything asked for is proven, 1 otherwise. */
export async function verifyCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    const { receiptPath, filePath, keysPath } = understand(argv)
    const keys = readKeySet(await textOf(keysPath))
    const receipt = receiptIn(await textOf(receiptPath))
    const findings = await checkReceipt({ receipt, keys, file: filePath === undefined ? undefined : await digestOf(filePath) })
    for (const { proven, sentence } of findings) io.out(`${proven ? 'Proven:' : 'NOT PROVEN:'} ${sentence}`)
    if (filePath === undefined) io.out('Not asked: whether a file is the one that was judged; name it after the receipt.')
    const isProven = findings.every(({ proven }) => proven)
    io.out(isProven ? 'Everything asked for is proven.' : 'Not everything is proven: do not rely on this receipt.')
    return isProven ? 0 : 1
  } catch (error) {
    io.err(error instanceof Error ? error.message : String(error))
    return 1
  }
}

function understand(argv: readonly string[]) {
  let given: { values: { keys?: string | undefined }; positionals: string[] }
  try {
    given = parseArgs({ args: [...argv], options: { keys: { type: 'string' } }, allowPositionals: true })
  } catch {
    throw new Error(usage)
  }
  const [receiptPath, filePath, ...more] = given.positionals
  const keysPath = given.values.keys
  if (receiptPath === undefined || keysPath === undefined || more.length > 0) throw new Error(usage)
  return { receiptPath, filePath, keysPath }
}

/** A bare JWS, or the service's answer around it. */
function receiptIn(text: string): string {
  const bare = text.trim()
  if (!bare.startsWith('{')) return bare
  try {
    const { receipt, data } = JSON.parse(bare) as { receipt?: unknown; data?: { receipt?: unknown } }
    return String(receipt ?? data?.receipt)
  } catch {
    return bare
  }
}

async function textOf(path: string): Promise<string> {
  const { size } = await stat(path).catch(unreadable(path))
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes; neither a receipt nor a key set has so many.`)
  return readFile(path, 'utf8').catch(unreadable(path))
}

async function digestOf(path: string) {
  const hash = createHash('sha256')
  let sizeBytes = 0
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      sizeBytes += chunk.length
    }
  } catch (error) {
    unreadable(path)(error as NodeJS.ErrnoException)
  }
  return { name: basename(path), sizeBytes, sha256: hash.digest('hex') }
}

const unreadable =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new Error(code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read (${code}).`)
  }
