import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { checkReceipt, extractReceipt, type Finding, parseKeySet } from '../check-receipt.js'

const maxTextFileBytes = 10_000_000

interface VerifiedFiles {
  receiptPath: string
  filePath: string | undefined
  keysPath: string
}

/** Verifies a receipt file offline. Throws an error with the path if a file cannot be read. */
export async function verifyFiles({ receiptPath, filePath, keysPath }: VerifiedFiles): Promise<Finding[]> {
  const keys = parseKeySet(await readTextFile(keysPath))
  const receipt = extractReceipt(await readTextFile(receiptPath))
  return checkReceipt({ receipt, keys, file: filePath === undefined ? undefined : await hashFile(filePath) })
}

async function readTextFile(path: string): Promise<string> {
  const { size } = await stat(path).catch(createReadErrorHandler(path))
  if (size > maxTextFileBytes)
    throw new Error(`${path} is ${size} bytes long. The maximum for a receipt or key set is ${maxTextFileBytes} bytes.`)
  return readFile(path, 'utf8').catch(createReadErrorHandler(path))
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
    createReadErrorHandler(path)(error as NodeJS.ErrnoException)
  }
  return { name: basename(path), sizeBytes, sha256: hash.digest('hex') }
}

const createReadErrorHandler =
  (path: string) =>
  ({ code }: NodeJS.ErrnoException): never => {
    throw new Error(code === 'ENOENT' ? `File ${path} does not exist.` : `Cannot read ${path} (${code}).`)
  }
